using Microsoft.Extensions.Logging.Abstractions;
using Millrace.Quic.Connections;
using Millrace.Tls;
using Millrace.Tls.Handshakes;

namespace Millrace.Tests.Shared;

/// <summary>What a client of a test does by itself when a connection is open.</summary>
internal sealed record Http3TestOptions
{
    /// <summary>The name that is asked for and verified.</summary>
    public string Host { get; init; } = "localhost";

    public IReadOnlyList<string> Protocols { get; init; } = ["h3"];

    /// <summary>SETTINGS_QPACK_MAX_TABLE_CAPACITY.</summary>
    public long TableCapacity { get; init; } = 4096;

    /// <summary>SETTINGS_QPACK_BLOCKED_STREAMS.</summary>
    public long BlockedStreams { get; init; } = 16;

    /// <summary>More settings.</summary>
    public IReadOnlyList<(long Id, long Value)> Settings { get; init; } = [];

    /// <summary>False: no stream is opened, the test does so. (What a server says on its streams is read all the same.)</summary>
    public bool OpensStreams { get; init; } = true;
}

/// <summary>
/// A client of HTTP/3 for tests, over a UDP socket with a thread of its own: the QUIC and the TLS are ours, the HTTP/3 is not. It trusts
/// the authorities of one file. Disposing of it ends its connections, and fails if memory is left.
/// </summary>
internal sealed class Http3TestClient(string authoritiesFile, QuicSettings? settings = null) : IDisposable
{
    private readonly TlsClient _tls = TlsClient.Create(authoritiesFile, NullLoggerFactory.Instance, isForQuic: true);

    public static QuicSettings Settings { get; } = new()
    {
        // The loop's socket does not show the marks.
        UsesEcn = false,
        IdleTimeout = 30 * QuicClock.Second,
    };

    public UdpLoop Loop { get; } = new(settings ?? Settings, new EndpointLimits(), acceptor: null);

    /// <summary>Connects to a server of this machine, and waits for the end of the handshake.</summary>
    /// <exception cref="Http3TestException">The connection has ended before.</exception>
    public Task<Http3TestConnection> ConnectAsync(int port, Http3TestOptions? options = null)
    {
        options ??= new Http3TestOptions();
        ApplicationProtocol[] protocols = [.. options.Protocols.Select(static name => new ApplicationProtocol(name))];
        return Http3TestConnection.ConnectAsync(Loop, port, _tls.TargetOf(options.Host, port).ConnectQuic(protocols), options);
    }

    public void Dispose()
    {
        Loop.Dispose();
        _tls.Dispose();
    }
}

/// <summary>A stream or a connection ended before what was expected of it.</summary>
internal sealed class Http3TestException(string message, long? streamCode = null, CloseReason? reason = null) : Exception(message)
{
    /// <summary>The code of RESET_STREAM or STOP_SENDING.</summary>
    public long? StreamCode => streamCode;

    /// <summary>Why the connection ended.</summary>
    public CloseReason? Reason => reason;
}
