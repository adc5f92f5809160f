using System.Net;
using Millrace.Quic.Connections;
using Millrace.Quic.Streams;
using Millrace.Tests.Shared;

namespace Millrace.Conformance.Tests.Kit;

/// <summary>
/// A gateway from HTTP/1.1 to HTTP/3, as <see cref="Http2Transport"/> is one to HTTP/2: each request that is written becomes a stream, and
/// what answers it is read as a response of HTTP/1.1, one after the other. Streams are read as the responses are, so that the server waits
/// for a reader that is slow.
/// </summary>
internal sealed class Http3Transport : Transport
{
    /// <summary>One socket for all connections but those with windows of their own.</summary>
    private static readonly Lazy<Http3TestClient> Shared = new(static () => new Http3TestClient(Run.Current.CertificateFile));

    private readonly Queue<(StreamResponse Response, Http3TestStream Stream)> _responses = new();
    private readonly List<byte> _written = [];
    private readonly Http3TestClient? _own;
    private readonly Http3TestConnection _connection;
    private readonly bool _isKestrel;
    private bool _hasEnded;

    private Http3Transport(Http3TestConnection connection, Http3TestClient? own, bool isKestrel) =>
        (_connection, _own, _isKestrel) = (connection, own, isKestrel);

    /// <param name="endPoint">Of this machine.</param>
    /// <param name="windowBytes">Of a stream and of the connection; 0 for the usual ones.</param>
    /// <param name="isKestrel">Whether its HTTP/3 is Kestrel's.</param>
    public static async Task<Http3Transport> ConnectAsync(IPEndPoint endPoint, int windowBytes, bool isKestrel)
    {
        Http3TestClient? own = windowBytes > 0 ? new Http3TestClient(Run.Current.CertificateFile, SettingsOf(windowBytes)) : null;
        try
        {
            return new Http3Transport(await (own ?? Shared.Value).ConnectAsync(endPoint.Port), own, isKestrel);
        }
        catch
        {
            own?.Dispose();
            throw;
        }
    }

    /// <summary>At the end of the run.</summary>
    public static void DisposeShared()
    {
        if (Shared.IsValueCreated)
        {
            Shared.Value.Dispose();
        }
    }

    public override async ValueTask<int> SendAsync(ReadOnlyMemory<byte> bytes, CancellationToken cancellation)
    {
        _written.AddRange(bytes.Span);
        while (StreamRequest.TryTake(_written) is { } request)
        {
            Http3TestStream stream = await _connection.OpenAsync().WaitAsync(cancellation);
            _responses.Enqueue((new StreamResponse(stream.Id, request.Method, request.IsLast), stream));
            try
            {
                await stream.WriteAsync(request.ToHttp3Frames(), isEnd: true).WaitAsync(cancellation);
            }
            catch (Http3TestException stopped) when (stopped.StreamCode is not null)
            {
                // The server wants no more of it; the response, if there is one, is to be read.
            }
        }

        return bytes.Length;
    }

    public override async ValueTask<int> ReceiveAsync(Memory<byte> bytes, CancellationToken cancellation)
    {
        while (!_hasEnded)
        {
            if (!_responses.TryPeek(out (StreamResponse Response, Http3TestStream Stream) next))
            {
                CloseReason reason = await _connection.Closed.WaitAsync(cancellation);
                Expect.That(reason is { IsApplication: true, Code: Http3Codes.NoError }, $"the connection ended: {reason}");
                return 0;
            }

            int count = next.Response.Take(bytes.Span, out _);
            if (next.Response.IsTaken)
            {
                _responses.Dequeue();
                _hasEnded = next.Response.IsLast;
            }

            if (count > 0)
            {
                return count;
            }

            if (next.Response.IsBroken)
            {
                return 0;
            }

            if (!next.Response.IsTaken)
            {
                await ReadAsync(next.Response, next.Stream).WaitAsync(cancellation);
            }
        }

        return 0;
    }

    /// <summary>A connection of QUIC has no end of one side; each request has ended its stream.</summary>
    public override Task FinishSendingAsync() => Task.CompletedTask;

    public override void Dispose()
    {
        _connection.Close();
        _own?.Dispose();
    }

    /// <summary>Kestrel has one code for all errors of messages.</summary>
    private bool IsMalformed(long? code) => code == Http3Codes.MessageError || (_isKestrel && code == Http3Codes.GeneralProtocolError);

    private static QuicSettings SettingsOf(int windowBytes) => Http3TestClient.Settings with
    {
        Streams = StreamSettings.Default with
        {
            ConnectionWindowBytes = windowBytes,
            ConnectionWindowBytesMax = windowBytes,
            StreamWindowBytes = windowBytes,
            StreamWindowBytesMax = windowBytes,
        },
    };

    private async Task ReadAsync(StreamResponse response, Http3TestStream stream)
    {
        try
        {
            if (!response.HasHead)
            {
                IReadOnlyList<(string Name, string Value)>? head = await stream.ReadHeadAsync();
                Expect.That(head is not null, "a stream without a response");
                bool isEnd = !response.TakesContent(head![0].Value) && await stream.ReadDataAsync() is null;
                response.AddHead([.. head.Select(static field => $"{field.Name}: {field.Value}")], isEnd);
            }
            else
            {
                byte[]? data = await stream.ReadDataAsync();
                response.AddData(data ?? [], isEnd: data is null);
            }
        }
        catch (Http3TestException reset) when (IsMalformed(reset.StreamCode) && !response.HasHead)
        {
            // What cannot be parsed is answered so (RFC 9114, section 4.1.2); in HTTP/1.1 it has a status.
            response.AddHead([":status: 400", "content-length: 0"], isEnd: true);
        }
        catch (Http3TestException reset) when (reset.StreamCode is not null)
        {
            response.IsBroken = true;
        }
        catch (InvalidDataException wrong)
        {
            throw new Nonconformance(wrong.Message);
        }
    }
}
