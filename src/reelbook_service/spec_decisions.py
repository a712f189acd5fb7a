"""This service's decisions where the specification is silent, and its limits."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1024 * 1024

MAX_BODY_BYTES = 32 * MIB
MAX_COMMAS = 250_000
MAX_UPLOAD_BYTES = 50_000_000
MAX_SOURCE_BYTES = 50_000_000
MAX_DATA_URI_BYTES = 24_000_000
MAX_WAITING = 10_000
MAX_BATCH = 1_000
MAX_ATTEMPTS = 3
FETCH_SECONDS = 30.0
RUN_SECONDS = 900.0
CANCEL_SECONDS = 10.0
"""How long the caller of a cancellation waits for disk and lane; it is carried on after that."""
BODY_SECONDS = 120.0
HEARTBEAT_SECONDS = 10.0
IDEMPOTENCY_SECONDS = 24 * 3600.0
RETENTION_SECONDS = 7 * 24 * 3600.0
DEFAULT_GRANT = 1_000_000
RETRY_AFTER_SECONDS = 5

FEATURES = ("idempotency", "uploads", "status-stream", "batch-status", "estimate")


@dataclass(frozen=True, slots=True)
class Choice:
    """A gap in the specification, what this service does there, and why."""

    gap: str
    choice: str
    because: str


CHOICES: tuple[Choice, ...] = (
    Choice(
        "other fields of the run answer",
        "status, statusUrl, responseUrl, cancelUrl and credits come along with requestId",
        "a client then needs to build no address, and sees the price at once",
    ),
    Choice(
        "queue addresses of the other three models",
        "all four models have them, also under the first two segments of the model id",
        "one way to follow a run is easier to learn than four",
    ),
    Choice(
        "transitions between states",
        "IN_QUEUE → IN_PROGRESS → COMPLETED; back to IN_QUEUE when a worker died; a failure is COMPLETED with error and error_type",
        "the spec has three states and no room for a fourth",
    ),
    Choice(
        "shape of logs",
        'an object {"entries": [{message, level, source, timestamp}]}, complete each time, with ?logs=1; {} without it',
        "the spec types it as an object; other services send the list that stands inside, and some clients expect the field",
    ),
    Choice(
        "metrics",
        "while running: progress and stage; at the end: inference_time, queue_time, credits, engine",
        "these are the figures a person waits for",
    ),
    Choice(
        "result of an unfinished request",
        "400 with error_type not_ready",
        "the address exists, the output does not yet",
    ),
    Choice(
        "cancelling",
        "in the queue at once, in progress between two frames; refunded either way; a second time answers ALREADY_COMPLETED; "
        "where disk or lane take longer than 10 s, the answer comes before the end of it",
        "nobody pays for what they do not get",
    ),
    Choice(
        "errors",
        '{"detail": text or list, "error_type": name} with the usual HTTP codes',
        "clients of this family of services read this shape already",
    ),
    Choice(
        "keys",
        "x-api-key is needed everywhere but at /, /models, the descriptions, /docs and /files/{token}",
        "the first four tell nothing private, and a file's token is as good as a key",
    ),
    Choice(
        "requests of another account",
        "404, the same as one that never was",
        "a 403 would tell that it exists",
    ),
    Choice(
        "idempotency",
        "Idempotency-Key on a submission: same key and body within 24 h repeats the first answer; another body is a 422",
        "without it, a lost answer can never be settled",
    ),
    Choice(
        "events",
        "…/status/stream sends each change as text/event-stream, with a heartbeat every 10 s",
        "asking again and again costs both sides more",
    ),
    Choice(
        "webhooks",
        "there are none; a submission with ?fal_webhook=… is a 422",
        "a caller who waits to be called back would wait for ever",
    ),
    Choice(
        "status of many requests",
        "POST /requests/status {ids} → {id: status}, the output inside once COMPLETED; unknown ids are left out; 1,000 at most",
        "one call for a whole sweep",
    ),
    Choice(
        "credit estimate",
        "{endpointId, input} → {credits, breakdown, rateCard, source}; the same 422 as a run",
        "it is the run call without the run",
    ),
    Choice(
        "when credits move",
        "reserved at submission, settled at completion, refunded in full on failure and cancellation",
        "an account can never be overdrawn, and only results are paid for",
    ),
    Choice(
        "items of images (images-to-video)",
        "{url, frames}; a bare address is held for one second; 100,000 frames at most; fps 1 to 120",
        "the smallest shape that says what the spec describes",
    ),
    Choice(
        "size of images-to-video",
        "the first picture's, made even; others are fitted inside it; orientation applied, transparency over black",
        "nothing is cut off and nothing is distorted",
    ),
    Choice(
        "items of images and results (smart-resize)",
        "images: File fields, width, height; results: width, height, aspect_ratio, resolution, images, description",
        "enough to tell which picture belongs to which size",
    ),
    Choice(
        "bounds of smart-resize",
        "num_images_per_size 1 to 4, sides 16 to 6336, 100 sizes at most; a size that no canvas covers is a 422",
        "the canvases of models of this family end there",
    ),
    Choice(
        "bounds of image-to-video", "cfg_scale 0 to 1, prompts up to 2,500 characters", "the usual ones of its kind"
    ),
    Choice(
        "length and size of image-to-video",
        "24 per second, exactly 120 or 240 frames, the source's shape, at most 1280×720 in area",
        "a player shows it everywhere",
    ),
    Choice(
        "sizes of text-to-video",
        "720p: 1280×720, 720×1280, 720×720; 480p: 854×480, 480×854, 480×480",
        "the common meaning of those names",
    ),
    Choice(
        "second_pass_skip_initial_steps",
        "must be less than second_pass_num_inference_steps",
        "otherwise the second pass has nothing to do",
    ),
    Choice(
        "source pictures",
        "http(s) and data: addresses and file_ids of uploads; 50 MB, 30 s, 40 megapixels; data URIs up to 24 MB; "
        "addresses of private networks are refused",
        "a service must not be a door into its own network",
    ),
    Choice(
        "uploads",
        "POST /files (multipart) → a File with a file_id that inputs take as an address",
        "a picture on a laptop has no address",
    ),
    Choice(
        "runs by a service elsewhere (models.toml)",
        "the larger of its quote and the catalog's price is reserved, and likewise settled, at most the reservation; with trust_prices = true its own counts",
        "the budgets of a class together are then the most that the account elsewhere can be charged",
    ),
    Choice(
        "a lost answer of a service elsewhere",
        "the run ends with answer_lost and counts with its price; an equal one of the account is sent only with the header x-resubmit",
        "nobody can know whether it was made and paid for until whoever runs the service has looked into the account there",
    ),
    Choice(
        "runs on weights of this machine (models.toml)",
        "as local ones: the price is reserved, and given back for every failure; while the weights are loaded requests wait; "
        "where they cannot be loaded, calls for their models get 503",
        "one rule for all that is made here",
    ),
    Choice(
        "loras",
        "files of the folders that models.toml names; one that cannot be used ends the run with lora_load_error (422), refunded",
        "a path must not reach beyond those folders, nor into a network",
    ),
    Choice("lifetime of files", "7 days, or --retention", "a disk is finite"),
    Choice(
        "length of one request",
        "32 MiB of JSON, and 250,000 commas in it",
        "room for a 24 MB data URI, or for 100,000 pictures, and not for a list that takes a minute to check",
    ),
    Choice(
        "order of the queue",
        "accounts take turns, one request each; those of one account in the order of submission; queue_position counts "
        "the requests ahead",
        "who submits 500 runs at once does not make the others of a class wait for all of them",
    ),
    Choice("requests that wait", "10,000 for one key, then 429 with Retry-After", "one sweep must not fill the memory"),
    Choice(
        "limits of an account",
        "a budget, filled again weekly if wanted; a time window, allowed models, a pause: 403; more runs at once than allowed: "
        "429 with Retry-After; a repeated Idempotency-Key gets its first answer whatever the limits say by now",
        "they are judged in the transaction that reserves the credits, so that two calls at once cannot share the last place",
    ),
    Choice(
        "weekly budgets",
        "at a fixed weekday and time of day, in the machine's time zone, the credits left become the budget, if they are fewer; "
        "a run counts in the week in which it was accepted, and what is given back for it later is void",
        "nobody can save up a week, nor have more than the budget in one",
    ),
    Choice(
        "safety",
        "a short list of words, whose strictness safety_tolerance moves; without permission the check stays on; refused content is refunded",
        "enough to exercise the answer; not a judgement of taste",
    ),
)
