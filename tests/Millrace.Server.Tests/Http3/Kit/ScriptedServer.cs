using System.Collections.Concurrent;
using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using Microsoft.Extensions.Logging.Abstractions;
using Millrace.Quic.Connections;
using Millrace.Quic.Protection;
using Millrace.Quic.Streams;
using Millrace.Server.Tests.Kit;
using Millrace.Tests.Shared;
using Millrace.Tls;
using Millrace.Tls.Quic;

namespace Millrace.Server.Tests.Http3.Kit;

/// <summary>
/// A server of HTTP/3 for one connection, which sends what a test gives it, byte by byte, and keeps what the client sends. Its loop's
/// thread drives it. It fails where the client allows fewer than three unidirectional streams (RFC 9114, section 6.2).
/// </summary>
internal sealed class ScriptedServer : IQuicAcceptor, IQuicConnectionHandler, IDisposable
{
    private readonly TempFolder _keys = new();
    private readonly TlsTerminator _tls;
    private readonly UdpLoop _loop;
    private readonly TaskCompletionSource<CloseReason> _closed = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly ConcurrentDictionary<long, byte[]> _received = new();
    private QuicServerHandshake? _handshake;
    private volatile QuicConnection? _connection;

    public ScriptedServer()
    {
        OwnCertificate.Make(_keys, "own", "localhost");
        _tls = TlsTerminator.Create(
            new TlsOptions
            {
                Certificates = [new CertificateFiles(Certificate, _keys.PathOf("own.key"))],
                ApplicationProtocols = ["h3"],
                ServesQuic = true,
            },
            NullLoggerFactory.Instance);
        _loop = new UdpLoop(Http3TestClient.Settings, new EndpointLimits(), this);
    }

    /// <summary>The type of a control stream, and settings.</summary>
    public static byte[] Control { get; } = [.. Http3Bytes.Number(Http3Bytes.ControlStream), .. Http3Bytes.Settings()];

    /// <summary>The file to trust.</summary>
    public string Certificate => _keys.PathOf("own.crt");

    public int Port => _loop.Port;

    /// <summary>What its unidirectional streams carry, which it opens after the handshake.</summary>
    public IReadOnlyList<byte[]> Streams { get; init; } =
        [Control, Http3Bytes.Number(Http3Bytes.EncoderStream), Http3Bytes.Number(Http3Bytes.DecoderStream)];

    /// <summary>What happens to each of these after that.</summary>
    public Action<QuicStream>? AfterStream { get; init; }

    public bool OpensBidirectional { get; init; }

    /// <summary>What happens once the request has ended, before the response.</summary>
    public Action<QuicConnection>? AfterRequest { get; init; }

    /// <summary>What is sent once the request has ended; null: nothing.</summary>
    public byte[]? Response { get; init; }

    /// <summary>The end of the connection, as the client has it.</summary>
    public Task<CloseReason> Closed => _closed.Task.WaitAsync(Http3TestConnection.Patience);

    /// <summary>The name that the client asked for.</summary>
    public string? ServerName { get; private set; }

    /// <summary>What the client has sent on each of its streams.</summary>
    public IReadOnlyDictionary<long, byte[]> Received => _received;

    public bool TryAccept(
        in PathAddress client, in PathAddress local, [NotNullWhen(true)] out QuicHandshake? handshake,
        [NotNullWhen(true)] out IQuicConnectionHandler? handler)
    {
        handshake = _handshake = _tls.AcceptQuic();
        handler = this;
        return true;
    }

    /// <summary>Resets a stream once the client has acknowledged what it carries.</summary>
    public async Task AbortAcknowledgedAsync(long id, int bytes)
    {
        long startedAt = Stopwatch.GetTimestamp();
        while (!await _loop.AskAsync(_ => TryAbort(id, bytes)))
        {
            Assert.True(Stopwatch.GetElapsedTime(startedAt) < Http3TestConnection.Patience, "The stream is not acknowledged.");
            await Task.Delay(5);
        }
    }

    public void OnHandshakeComplete(QuicConnection connection)
    {
        _connection = connection;
        ServerName = _handshake!.Session!.ServerName;
        foreach (byte[] bytes in Streams)
        {
            QuicStream stream = Open(connection, isBidirectional: false);
            stream.Write(bytes);
            AfterStream?.Invoke(stream);
        }

        if (OpensBidirectional)
        {
            Open(connection, isBidirectional: true).Write([0]);
        }
    }

    public void OnStream(QuicConnection connection, QuicStream stream, StreamEvents events)
    {
        if (!stream.IsPeers || events.HasFlag(StreamEvents.Closed))
        {
            return;
        }

        while (stream.TryRead(out ReadOnlySpan<byte> bytes))
        {
            byte[] piece = bytes.ToArray();
            _received.AddOrUpdate(stream.Id, piece, (_, before) => [.. before, .. piece]);
            stream.Consume(piece.Length);
        }

        if (!stream.IsBidirectional || !stream.IsReadToEnd)
        {
            return;
        }

        AfterRequest?.Invoke(connection);
        if (Response is not null)
        {
            stream.Write(Response);
            stream.Finish();
        }
    }

    public void OnStreamsAvailable(QuicConnection connection)
    {
    }

    public void OnNewToken(QuicConnection connection, ReadOnlySpan<byte> token)
    {
    }

    public void OnClosed(QuicConnection connection, in CloseReason reason) => _closed.TrySetResult(reason);

    public void Dispose()
    {
        _loop.Dispose();
        _tls.Dispose();
        _keys.Dispose();
    }

    private bool TryAbort(long id, int bytes)
    {
        QuicStream? stream = _connection?.Streams.Find(id);
        bool isAcknowledged = stream?.Send.Buffer.Start == bytes;
        if (isAcknowledged)
        {
            stream!.Abort(Http3Codes.NoError);
        }

        return isAcknowledged;
    }

    private static QuicStream Open(QuicConnection connection, bool isBidirectional)
    {
        Assert.True(connection.Streams.TryOpen(isBidirectional, out QuicStream? stream), "The client does not allow the stream.");
        return stream!;
    }
}
