namespace Millrace.Http;

/// <summary>Request methods a server may have something to say about. Unknown is a valid token that is none of these.</summary>
internal enum Method : byte
{
    Unknown,
    Get,
    Head,
    Options,
    Post,
    Put,
    Delete,
    Trace,
    Connect,
    Patch,
}
