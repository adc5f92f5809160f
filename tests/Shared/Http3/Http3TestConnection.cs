using System.Collections.Concurrent;
using Millrace.Quic.Connections;
using Millrace.Quic.Streams;
using Millrace.Tls.Quic;

namespace Millrace.Tests.Shared;

/// <summary>
/// One connection of a <see cref="Http3TestClient"/>. Members may be called on any thread; the streams of QUIC are used on the loop's. What
/// the server says on its unidirectional streams is read at once and kept; request streams are read when the test reads them. Each wait
/// ends after <see cref="Patience"/>.
/// </summary>
internal sealed class Http3TestConnection : IQuicConnectionHandler
{
    private readonly TaskCompletionSource _handshake = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly TaskCompletionSource<CloseReason> _closed = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly TaskCompletionSource<IReadOnlyList<(long Id, long Value)>> _settings =
        new(TaskCreationOptions.RunContinuationsAsynchronously);

    private readonly UdpLoop _loop;
    private readonly Http3TestOptions _options;
    private readonly QpackReader _qpack;
    private readonly Queue<(bool IsBidirectional, TaskCompletionSource<Http3TestStream> Opened)> _unopened = new();
    private readonly List<(long StreamId, byte[] Section, TaskCompletionSource<IReadOnlyList<(string, string)>> Fields)> _undecoded = [];
    private readonly ConcurrentQueue<(long Type, byte[] Payload)> _controlFrames = new();
    private readonly List<Http3TestStream> _streams = [];
    private Http3TestStream? _decoderStream;
    private CloseReason? _reason;

    private Http3TestConnection(UdpLoop loop, Http3TestOptions options)
    {
        _loop = loop;
        _options = options;
        _qpack = new QpackReader(options.TableCapacity);
    }

    public static TimeSpan Patience { get; } = TimeSpan.FromSeconds(30);

    /// <summary>Only for the loop's thread; counters may be read on others.</summary>
    public QuicConnection Quic { get; private set; } = null!;

    public UdpLoop Loop => _loop;

    /// <summary>The control stream, if the options had it opened.</summary>
    public Http3TestStream? Control { get; private set; }

    public Http3TestStream? Encoder { get; private set; }

    /// <summary>The end of the connection, of which ever side.</summary>
    public Task<CloseReason> Closed => _closed.Task.WaitAsync(Patience);

    /// <summary>Without waiting: whether it has ended.</summary>
    public bool HasClosed => _closed.Task.IsCompleted;

    /// <summary>The server's settings, when they have arrived.</summary>
    public Task<IReadOnlyList<(long Id, long Value)>> ServerSettings => _settings.Task.WaitAsync(Patience);

    /// <summary>All frames of the server's control stream, in order.</summary>
    public IReadOnlyCollection<(long Type, byte[] Payload)> ControlFrames => _controlFrames;

    /// <summary>The ids of the server's GOAWAY frames.</summary>
    public IReadOnlyList<long> GoAways =>
        [.. _controlFrames.Where(static frame => frame.Type == Http3Bytes.GoAwayType).Select(static frame => NumberOf(frame.Payload))];

    /// <summary>The types of unidirectional streams that the server has opened.</summary>
    public ConcurrentQueue<long> StreamTypes { get; } = new();

    /// <summary>A token for the next connection, if the server has given one.</summary>
    public byte[]? Token { get; private set; }

    /// <summary>Insertions into the dynamic table that the server's sections have needed.</summary>
    public long MostRequiredInsertions => _qpack.MostRequired;

    public static async Task<Http3TestConnection> ConnectAsync(
        UdpLoop loop, int port, OpenSslQuicHandshake handshake, Http3TestOptions options)
    {
        var connection = new Http3TestConnection(loop, options);
        connection.Quic = await loop.ConnectAsync(port, handshake, connection).WaitAsync(Patience);
        await connection._handshake.Task.WaitAsync(Patience);
        return connection;
    }

    /// <summary>Opens a stream as soon as the server allows one more.</summary>
    public Task<Http3TestStream> OpenAsync(bool isBidirectional = true)
    {
        var opened = new TaskCompletionSource<Http3TestStream>(TaskCreationOptions.RunContinuationsAsynchronously);
        _loop.Post(_ =>
        {
            _unopened.Enqueue((isBidirectional, opened));
            OpenStreams();
        });
        return opened.Task.WaitAsync(Patience);
    }

    /// <summary>Opens a stream and sends these bytes on it, whatever they are.</summary>
    public async Task<Http3TestStream> SendAsync(ReadOnlyMemory<byte> bytes, bool isEnd = true, bool isBidirectional = true)
    {
        Http3TestStream stream = await OpenAsync(isBidirectional);
        await stream.WriteAsync(bytes, isEnd);
        return stream;
    }

    /// <summary>Sends a request without content, and reads the whole response.</summary>
    public Task<Http3TestResponse> GetAsync(string path, params string[] fields) => AskAsync("GET", path, fields);

    public async Task<Http3TestResponse> AskAsync(string method, string path, string[] fields, ReadOnlyMemory<byte> content = default)
    {
        byte[] request = Http3Bytes.Request(method, path, fields);
        Http3TestStream stream = await OpenAsync();
        try
        {
            await stream.WriteAsync(content.IsEmpty ? request : (byte[])[.. request, .. Http3Bytes.Data(content.Span)], isEnd: true);
        }
        catch (Http3TestException stopped) when (stopped.StreamCode is not null)
        {
            // The server wants no more of it, and may have responded.
        }

        return await stream.ReadResponseAsync();
    }

    /// <summary>Closes it with a code of HTTP/3.</summary>
    public void Close(long code = Http3Codes.NoError) => _loop.Post(now => Quic.Close(code, "", now));

    /// <summary>Runs on the loop's thread.</summary>
    public Task<T> InspectAsync<T>(Func<QuicConnection, T> question) => _loop.AskAsync(_ => question(Quic)).WaitAsync(Patience);

    /// <summary>Decodes a field section, when the entries that it needs have arrived.</summary>
    public Task<IReadOnlyList<(string Name, string Value)>> DecodeAsync(long streamId, byte[] section)
    {
        var fields = new TaskCompletionSource<IReadOnlyList<(string, string)>>(TaskCreationOptions.RunContinuationsAsynchronously);
        _loop.Post(_ =>
        {
            _undecoded.Add((streamId, section, fields));
            DecodeSections();
        });
        return fields.Task.WaitAsync(Patience);
    }

    /// <summary>What streams do on the loop's thread; not after the connection has ended.</summary>
    internal void Post(Action action) => _loop.Post(_ => action());

    internal Http3TestException? Failure => _reason is { } reason
        ? new Http3TestException($"The connection has ended: {reason}", reason: reason)
        : null;

    void IQuicConnectionHandler.OnHandshakeComplete(QuicConnection connection)
    {
        Quic = connection;
        if (_options.OpensStreams)
        {
            Control = OpenOwn();
            Control.Write([
                .. Http3Bytes.Number(Http3Bytes.ControlStream),
                .. Http3Bytes.Settings([
                    (Http3Bytes.TableCapacitySetting, _options.TableCapacity),
                    (Http3Bytes.BlockedStreamsSetting, _options.BlockedStreams),
                    .. _options.Settings,
                ]),
            ]);
            Encoder = OpenOwn();
            Encoder.Write(Http3Bytes.Number(Http3Bytes.EncoderStream));
            _decoderStream = OpenOwn();
            _decoderStream.Write(Http3Bytes.Number(Http3Bytes.DecoderStream));
        }

        _handshake.TrySetResult();
    }

    void IQuicConnectionHandler.OnStream(QuicConnection connection, QuicStream stream, StreamEvents events)
    {
        if (stream.Tag is null && stream.IsPeers)
        {
            stream.Tag = new ServerStream(this);
        }

        switch (stream.Tag)
        {
            case Http3TestStream own:
                own.OnEvents(events);
                break;
            case ServerStream servers when !stream.IsBidirectional:
                while (!events.HasFlag(StreamEvents.Closed) && stream.TryRead(out ReadOnlySpan<byte> bytes))
                {
                    servers.Take(bytes);
                    stream.Consume(bytes.Length);
                }

                break;
        }
    }

    void IQuicConnectionHandler.OnStreamsAvailable(QuicConnection connection) => OpenStreams();

    void IQuicConnectionHandler.OnNewToken(QuicConnection connection, ReadOnlySpan<byte> token) => Token = token.ToArray();

    void IQuicConnectionHandler.OnClosed(QuicConnection connection, in CloseReason reason)
    {
        _reason = reason;
        Http3TestException failure = Failure!;
        _handshake.TrySetException(failure);
        _settings.TrySetException(failure);
        OpenStreams();
        DecodeSections();
        foreach (Http3TestStream stream in _streams)
        {
            stream.OnConnectionClosed();
        }

        _closed.TrySetResult(reason);
        _ = _settings.Task.Exception;
    }

    private static long NumberOf(byte[] payload) => Http3Bytes.TryReadNumber(payload, out long value, out _) ? value : -1;

    private Http3TestStream OpenOwn()
    {
        if (!Quic.Streams.TryOpen(isBidirectional: false, out QuicStream? stream))
        {
            throw new InvalidOperationException("The server allows fewer than three unidirectional streams (RFC 9114, section 6.2).");
        }

        var opened = new Http3TestStream(this, stream!);
        _streams.Add(opened);
        return opened;
    }

    private void OpenStreams()
    {
        while (_unopened.TryPeek(out (bool IsBidirectional, TaskCompletionSource<Http3TestStream> Opened) next))
        {
            if (Failure is { } failure)
            {
                next.Opened.TrySetException(failure);
            }
            else if (Quic.Streams.TryOpen(next.IsBidirectional, out QuicStream? stream))
            {
                var opened = new Http3TestStream(this, stream!);
                _streams.Add(opened);
                next.Opened.TrySetResult(opened);
            }
            else
            {
                return;
            }

            _unopened.Dequeue();
        }
    }

    private void DecodeSections()
    {
        for (int i = _undecoded.Count - 1; i >= 0; i--)
        {
            (long streamId, byte[] section, TaskCompletionSource<IReadOnlyList<(string, string)>> fields) = _undecoded[i];
            try
            {
                if (_qpack.Decode(streamId, section) is { } decoded)
                {
                    fields.TrySetResult(decoded);
                }
                else if (Failure is { } failure)
                {
                    fields.TrySetException(failure);
                }
            }
            catch (InvalidDataException failure)
            {
                fields.TrySetException(failure);
            }

            if (fields.Task.IsCompleted)
            {
                _undecoded.RemoveAt(i);
            }
        }

        if (_qpack.Instructions.Count > 0 && _decoderStream is not null && Failure is null)
        {
            _decoderStream.Write([.. _qpack.Instructions]);
            _qpack.Instructions.Clear();
        }
    }

    private void TakeControl(long type, byte[] payload)
    {
        _controlFrames.Enqueue((type, payload));
        if (type != Http3Bytes.SettingsType)
        {
            return;
        }

        List<(long, long)> settings = [];
        for (int at = 0; at < payload.Length;)
        {
            if (!Http3Bytes.TryReadNumber(payload.AsSpan(at), out long id, out int idLength)
                || !Http3Bytes.TryReadNumber(payload.AsSpan(at + idLength), out long value, out int valueLength))
            {
                _settings.TrySetException(new InvalidDataException("SETTINGS is truncated"));
                return;
            }

            settings.Add((id, value));
            at += idLength + valueLength;
        }

        _settings.TrySetResult(settings);
    }

    /// <summary>A unidirectional stream of the server. On the loop's thread.</summary>
    private sealed class ServerStream(Http3TestConnection connection)
    {
        private readonly List<byte> _unread = [];
        private long? _type;

        public void Take(ReadOnlySpan<byte> bytes)
        {
            _unread.AddRange(bytes);
            if (_type is null && Http3Bytes.TryReadNumber([.. _unread], out long type, out int length))
            {
                _type = type;
                _unread.RemoveRange(0, length);
                connection.StreamTypes.Enqueue(type);
            }

            switch (_type)
            {
                case Http3Bytes.ControlStream:
                    TakeFrames();
                    break;
                case Http3Bytes.EncoderStream:
                    connection._qpack.Insert([.. _unread]);
                    _unread.Clear();
                    connection.DecodeSections();
                    break;
                case not null:
                    _unread.Clear();
                    break;
            }
        }

        private void TakeFrames()
        {
            byte[] bytes = [.. _unread];
            int at = 0;
            while (Http3Bytes.TryReadNumber(bytes.AsSpan(at), out long type, out int typeLength)
                && Http3Bytes.TryReadNumber(bytes.AsSpan(at + typeLength), out long length, out int lengthLength)
                && at + typeLength + lengthLength + length <= bytes.Length)
            {
                int begin = at + typeLength + lengthLength;
                at = begin + (int)length;
                connection.TakeControl(type, bytes[begin..at]);
            }

            _unread.RemoveRange(0, at);
        }
    }
}
