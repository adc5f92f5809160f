namespace Millrace.StaticFiles.Rules;

/// <summary>
/// The fields of <see cref="SiteOptions.SecurityHeaders"/>, which protect a static site independently of its content.
/// Strict-Transport-Security is not among them: it would exclude a host from plain HTTP for months, which only its owner may decide.
/// </summary>
internal static class SecurityPreset
{
    public static readonly Field[] Fields =
    [
        // No content sniffing: an uploaded text that looks like a script is not executed.
        new("X-Content-Type-Options", "nosniff"),

        // Other sites see the visitor's origin, not the page; http sites see nothing. The default of browsers, made explicit.
        new("Referrer-Policy", "strict-origin-when-cross-origin"),

        // Other sites may not embed the pages in a frame under their own buttons (clickjacking). For browsers without frame-ancestors; the
        // others ignore it.
        new("X-Frame-Options", "SAMEORIGIN"),

        // frame-ancestors: as above. base-uri: injected markup cannot redirect relative links and scripts to another site. No directives
        // for scripts, styles and images: a policy that does not know the pages would break them.
        new("Content-Security-Policy", "frame-ancestors 'self'; base-uri 'self'"),

        // A page of another site that opened a window of this one, or was opened by it, gets no reference to it. A sign-in page that
        // replies to its opener needs same-origin-allow-popups.
        new("Cross-Origin-Opener-Policy", "same-origin"),

        // Powerful features that a static page rarely uses: nothing in it, frames included, can request them.
        new("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
    ];
}
