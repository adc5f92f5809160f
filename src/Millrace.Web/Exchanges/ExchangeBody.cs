namespace Millrace.Web.Exchanges;

/// <summary>Where the body of an answer came from.</summary>
internal enum ExchangeBody : byte
{
    /// <summary>There was none: HEAD, 304, redirects.</summary>
    None,

    /// <summary>A text of the server's: errors, listings.</summary>
    Text,

    /// <summary>Memory that holds the file.</summary>
    Baked,

    /// <summary>One read of the file.</summary>
    Ring,

    /// <summary>The file, chunk by chunk.</summary>
    Stream,
}
