/** The script of an output with figures and with posters that open. */
import "./figure.ts";
import "./posters.ts";
