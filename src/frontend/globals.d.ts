/** The style sheet of a form or a studio, which Python writes before its script. */
declare const STYLE: string;
