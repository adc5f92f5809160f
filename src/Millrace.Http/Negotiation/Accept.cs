namespace Millrace.Http;

/// <summary>
/// Evaluates Accept (RFC 9110 section 12.5.1) for the two types that the server chooses between: application/json and text/html.
/// </summary>
/// <remarks>A range with a malformed weight is ignored.</remarks>
internal static class Accept
{
    /// <summary>
    /// Whether JSON has the higher weight or, with equal weights, whether JSON is named and HTML is only included: scripts send
    /// <c>application/json, text/plain, */*</c>.
    /// </summary>
    public static bool PrefersJson(ReadOnlySpan<byte> value)
    {
        MediaPreference json = MediaPreference.Find(value, "application"u8, "json"u8);
        MediaPreference html = MediaPreference.Find(value, "text"u8, "html"u8);
        return json.Weight > html.Weight || (json.Weight == html.Weight && json.Weight > 0 && json.Precision > html.Precision);
    }

    /// <summary>Whether text/html is named, as browsers do for a page, and not refused.</summary>
    public static bool NamesHtml(ReadOnlySpan<byte> value)
        => MediaPreference.Find(value, "text"u8, "html"u8) is { Precision: >= MediaPrecision.NamedWithParameters, Weight: > 0 };
}
