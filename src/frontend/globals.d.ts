/** What Python writes before the script of a form or a studio: its style sheet, and the buttons of a clock. */
declare const STYLE: string;
declare const TRANSPORT: string;
