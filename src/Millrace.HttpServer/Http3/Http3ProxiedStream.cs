using Millrace.HttpServer.Proxying;

namespace Millrace.HttpServer.Http3;

/// <summary>
/// A stream's request to an upstream over HTTP/3. What the upstream has not taken of its body stays in the QUIC stream, whose window then
/// holds the client back. Reactor thread only.
/// </summary>
internal sealed class Http3ProxiedStream : ProxiedStream
{
    /// <summary>Whether the session has found bytes that the upstream did not take.</summary>
    public bool IsPaused { get; set; }

    public override bool HoldsBody => IsPaused;

    public override void Reset()
    {
        base.Reset();
        IsPaused = false;
    }
}
