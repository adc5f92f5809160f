namespace Millrace.StaticFiles.Rules;

/// <summary>
/// The fields of <see cref="SiteOptions.SecurityHeaders"/>: what protects a static site without knowing it. Strict-Transport-Security
/// is not among them: it would lock a host name out of plain HTTP for months, which only its owner may decide.
/// </summary>
internal static class SecurityPreset
{
    public static readonly Field[] Fields =
    [
        // No guessing of types: an uploaded text that looks like a script is not run as one.
        new("X-Content-Type-Options", "nosniff"),

        // Other sites learn from where a visitor came, not from which page; http sites nothing. Browsers' default, made sure.
        new("Referrer-Policy", "strict-origin-when-cross-origin"),

        // Other sites may not show the pages in a frame under their own buttons (clickjacking). For browsers without
        // frame-ancestors; the others ignore it.
        new("X-Frame-Options", "SAMEORIGIN"),

        // frame-ancestors: as above. base-uri: markup that got into a page cannot make its relative links and scripts another
        // site's. Nothing about scripts, styles and images: a policy that does not know the pages would break them.
        new("Content-Security-Policy", "frame-ancestors 'self'; base-uri 'self'"),

        // A page of another site that opened a window of this one, or was opened by it, has no handle of it. A sign-in that answers its
        // opener needs same-origin-allow-popups.
        new("Cross-Origin-Opener-Policy", "same-origin"),

        // Powerful features that a static page rarely has: nothing in it, frames included, can ask for them.
        new("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
    ];
}
