namespace Millrace.Http;

/// <summary>How precisely a media range means a type; the most precise range decides (RFC 9110 section 12.5.1).</summary>
internal enum MediaPrecision
{
    None,

    /// <summary><c>*/*</c></summary>
    Any,

    /// <summary><c>text/*</c></summary>
    Family,

    /// <summary><c>text/html;level=1</c>: a kind of the type, so that the type itself, if it is listed too, outranks it.</summary>
    NamedWithParameters,

    /// <summary><c>text/html</c></summary>
    Named,
}
