from . import errors as errors
from ._version import __version__ as __version__
from .api.comparisons import compare as compare
from .api.forms import form as form
from .api.forms import studio as studio
from .api.judging import judge as judge
from .api.judging import race as race
from .api.library import library as library
from .api.library import provenance as provenance
from .api.library import read as read
from .api.library import strip as strip
from .api.runs import attach as attach
from .api.runs import cancel_queued as cancel_queued
from .api.runs import connect as connect
from .api.runs import estimate as estimate
from .api.runs import model as model
from .api.runs import run as run
from .api.runs import start as start
from .client import Client as Client
from .errors import (
    BadDescription as BadDescription,
)
from .errors import (
    BadRates as BadRates,
)
from .errors import (
    DownloadFailed as DownloadFailed,
)
from .errors import (
    FolderInUse as FolderInUse,
)
from .errors import (
    Forbidden as Forbidden,
)
from .errors import (
    InsufficientCredits as InsufficientCredits,
)
from .errors import (
    InvalidInput as InvalidInput,
)
from .errors import (
    LibraryError as LibraryError,
)
from .errors import (
    NotFound as NotFound,
)
from .errors import (
    NotReady as NotReady,
)
from .errors import (
    OverBudget as OverBudget,
)
from .errors import (
    ReelbookError as ReelbookError,
)
from .errors import (
    Refused as Refused,
)
from .errors import (
    RunCancelled as RunCancelled,
)
from .errors import (
    RunFailed as RunFailed,
)
from .errors import (
    RunTimeout as RunTimeout,
)
from .errors import (
    ServiceBroken as ServiceBroken,
)
from .errors import (
    ServiceError as ServiceError,
)
from .errors import (
    TooManyRequests as TooManyRequests,
)
from .errors import (
    Unauthorized as Unauthorized,
)
from .errors import (
    UncertainRun as UncertainRun,
)
from .errors import (
    UnknownModel as UnknownModel,
)
from .errors import (
    Unreachable as Unreachable,
)
from .media.metadata.provenance import Provenance as Provenance
from .models.catalog import Estimate as Estimate
from .models.image_to_video import ImageToVideo as ImageToVideo
from .models.images import Image as Image
from .models.images_to_video import Frame as Frame
from .models.images_to_video import ImagesToVideo as ImagesToVideo
from .models.smart_resize import Size as Size
from .models.smart_resize import SmartResize as SmartResize
from .models.text_to_video import LoRA as LoRA
from .models.text_to_video import TextToVideo as TextToVideo
from .runs.run import Run as Run
from .settings import options as options
from .storage.library import Library as Library
from .sweeps.parts import rows as rows
from .sweeps.parts import sampled as sampled
from .sweeps.parts import template as template
from .sweeps.parts import zipped as zipped
from .sweeps.plan import Plan as Plan
from .sweeps.plan import sweep as sweep

__all__: list[str]
