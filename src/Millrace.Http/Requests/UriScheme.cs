namespace Millrace.Http;

/// <summary>The schemes a server of HTTP answers for.</summary>
internal enum UriScheme : byte
{
    Unknown,
    Http,
    Https,
}
