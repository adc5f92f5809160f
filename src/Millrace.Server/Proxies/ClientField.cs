namespace Millrace.Server.Proxies;

/// <summary>Which field proxies add the client's address to. One only: what they do not write, clients can.</summary>
internal enum ClientField
{
    XForwardedFor,

    /// <summary>RFC 7239.</summary>
    Forwarded,

    /// <summary>None: clients are who connects, or whom the PROXY protocol names.</summary>
    None,
}
