using Millrace.Quic.Streams;

namespace Millrace.Tests.Shared;

/// <summary>
/// A stream that the client has opened: bytes as they are, and for a request the frames of its response. Bytes are taken from the
/// connection when the test reads them, so the server waits for a slow reader. Reads are one after the other.
/// </summary>
internal sealed class Http3TestStream
{
    private const int PieceLength = 16 * 1024;

    private readonly Http3TestConnection _connection;
    private readonly TaskCompletionSource _stopped = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly TaskCompletionSource _closed = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly Queue<PendingWrite> _writes = new();

    // On the loop's thread.
    private QuicStream? _stream;
    private PendingRead? _read;
    private byte[] _rest = [];
    private bool _isReadToEnd;
    private long? _resetCode;
    private long? _stopCode;

    // Of the reader.
    private readonly byte[] _input = new byte[PieceLength];
    private int _start;
    private int _end;
    private long _dataLeft;

    public Http3TestStream(Http3TestConnection connection, QuicStream stream)
    {
        _connection = connection;
        _stream = stream;
        Id = stream.Id;
        stream.Tag = this;
    }

    public long Id { get; }

    /// <summary>The server has asked with STOP_SENDING to send no more: <see cref="StopCode"/>.</summary>
    public Task Stopped => _stopped.Task.WaitAsync(Http3TestConnection.Patience);

    public long? StopCode => _stopCode;

    /// <summary>Both sides have ended, and all was acknowledged.</summary>
    public Task Closed => _closed.Task.WaitAsync(Http3TestConnection.Patience);

    /// <summary>The fields after the content of a response that was read to its end.</summary>
    public IReadOnlyList<(string Name, string Value)>? Trailers { get; private set; }

    /// <summary>Types of frames that HTTP/3 does not know, and that were skipped.</summary>
    public List<long> UnknownFrames { get; } = [];

    /// <summary>Sends bytes, as there is room, and perhaps the end.</summary>
    /// <exception cref="Http3TestException">The server wants no more, or the connection has ended.</exception>
    public Task WriteAsync(ReadOnlyMemory<byte> bytes, bool isEnd = false)
    {
        var write = new PendingWrite(bytes, isEnd);
        _connection.Post(() =>
        {
            _writes.Enqueue(write);
            Write();
        });
        return write.Done.Task.WaitAsync(Http3TestConnection.Patience);
    }

    public Task FinishAsync() => WriteAsync(default, isEnd: true);

    /// <summary>RESET_STREAM.</summary>
    public void Abort(long code = Http3Codes.RequestCancelled) => _connection.Post(() => _stream?.Abort(code));

    /// <summary>STOP_SENDING.</summary>
    public void StopSending(long code = Http3Codes.RequestCancelled) => _connection.Post(() => _stream?.StopSending(code));

    /// <summary>Some bytes; 0 at the end.</summary>
    /// <exception cref="Http3TestException">The server has reset the stream, or the connection has ended.</exception>
    public Task<int> ReadAsync(Memory<byte> bytes)
    {
        var read = new PendingRead(bytes);
        _connection.Post(() =>
        {
            _read = read;
            Read();
        });
        return read.Done.Task.WaitAsync(Http3TestConnection.Patience);
    }

    /// <summary>All bytes up to the end.</summary>
    public async Task<byte[]> ReadToEndAsync()
    {
        using var all = new MemoryStream();
        while (_start < _end || await FillAsync())
        {
            all.Write(_input, _start, _end - _start);
            _start = _end = 0;
        }

        return all.ToArray();
    }

    /// <summary>The fields of the next HEADERS frame; null at the end of the stream.</summary>
    public async Task<IReadOnlyList<(string Name, string Value)>?> ReadHeadAsync() => await ReadFrameAsync() switch
    {
        null => null,
        Http3Bytes.HeadersType => await ReadFieldsAsync(),
        long type => throw new InvalidDataException($"A frame of type {type} where HEADERS was expected"),
    };

    /// <summary>The next bytes of content; null when there are no more, and then <see cref="Trailers"/> are known.</summary>
    public async Task<byte[]?> ReadDataAsync(int length = PieceLength)
    {
        while (_dataLeft == 0)
        {
            switch (await ReadFrameAsync())
            {
                case null:
                    return null;
                case Http3Bytes.HeadersType when Trailers is null:
                    Trailers = await ReadFieldsAsync();
                    break;
                case Http3Bytes.DataType when Trailers is null:
                    break;
                case long type:
                    throw new InvalidDataException($"A frame of type {type} after the content");
            }
        }

        await RequireAsync(1);
        int count = (int)Math.Min(Math.Min(_dataLeft, length), _end - _start);
        byte[] data = _input[_start..(_start + count)];
        _start += count;
        _dataLeft -= count;
        return data;
    }

    /// <summary>Reads the response to its end.</summary>
    public async Task<Http3TestResponse> ReadResponseAsync()
    {
        List<IReadOnlyList<(string Name, string Value)>> informational = [];
        while (true)
        {
            IReadOnlyList<(string Name, string Value)> head = await ReadHeadAsync()
                ?? throw new InvalidDataException("The stream ended without a response");
            if (head is not [(":status", ['1', ..]), ..])
            {
                using var content = new MemoryStream();
                while (await ReadDataAsync() is { } piece)
                {
                    content.Write(piece);
                }

                return new Http3TestResponse(informational, head, content.ToArray(), Trailers);
            }

            informational.Add(head);
        }
    }

    /// <summary>On the loop's thread.</summary>
    internal void Write(byte[] bytes)
    {
        _writes.Enqueue(new PendingWrite(bytes, false));
        Write();
    }

    internal void OnEvents(StreamEvents events)
    {
        if (_stream is null)
        {
            return;
        }

        _resetCode ??= events.HasFlag(StreamEvents.Reset) ? _stream.Receive.ResetCode : null;
        if (events.HasFlag(StreamEvents.StopSending))
        {
            _stopCode = _stream.Send.StopSendingCode;
            _stopped.TrySetResult();
        }

        _isReadToEnd |= _stream.IsReadToEnd;
        _stream = events.HasFlag(StreamEvents.Closed) ? null : _stream;
        if (_stream is null)
        {
            _closed.TrySetResult();
        }

        Write();
        Read();
    }

    internal void OnConnectionClosed()
    {
        TakeRest();
        _stream = null;
        Write();
        Read();
        Exception failure = _connection.Failure!;
        _stopped.TrySetException(failure);
        _closed.TrySetException(failure);
        _ = _stopped.Task.Exception;
        _ = _closed.Task.Exception;
    }

    /// <summary>What has arrived before the connection's end stays readable.</summary>
    private void TakeRest()
    {
        while (_stream is not null && _resetCode is null && _stream.TryRead(out ReadOnlySpan<byte> bytes))
        {
            _rest = [.. _rest, .. bytes];
            _stream.Consume(bytes.Length);
        }

        _isReadToEnd |= _stream is { IsReadToEnd: true };
    }

    private void Write()
    {
        while (_writes.TryPeek(out PendingWrite? write))
        {
            Exception? failure = _connection.Failure
                ?? (_stopCode is long code ? new Http3TestException($"STOP_SENDING with {code:x}", code) : null);
            if (failure is null && _stream is null)
            {
                failure = new InvalidOperationException("The stream is closed.");
            }

            if (failure is not null)
            {
                write.Done.TrySetException(failure);
                _ = write.Done.Task.Exception;
            }
            else if (!write.TrySend(_stream!))
            {
                return;
            }

            _writes.Dequeue();
        }
    }

    private void Read()
    {
        if (_read is not { } read)
        {
            return;
        }

        if (_rest.Length > 0)
        {
            int count = Math.Min(_rest.Length, read.Bytes.Length);
            _rest.AsSpan(0, count).CopyTo(read.Bytes.Span);
            _rest = _rest[count..];
            read.Done.TrySetResult(count);
        }
        else if (_stream is not null && _resetCode is null && _stream.TryRead(out ReadOnlySpan<byte> bytes))
        {
            int count = Math.Min(bytes.Length, read.Bytes.Length);
            bytes[..count].CopyTo(read.Bytes.Span);
            _stream.Consume(count);
            read.Done.TrySetResult(count);
        }
        else if (_resetCode is long code)
        {
            read.Done.TrySetException(new Http3TestException($"RESET_STREAM with {code:x}", code));
        }
        else if (_isReadToEnd || _stream is { IsReadToEnd: true })
        {
            read.Done.TrySetResult(0);
        }
        else if (_connection.Failure is { } failure)
        {
            read.Done.TrySetException(failure);
        }

        if (read.Done.Task.IsCompleted)
        {
            _read = null;
        }
    }

    /// <summary>The type of the next frame that is known; its payload follows. Null at the end of the stream.</summary>
    private async Task<long?> ReadFrameAsync()
    {
        while (true)
        {
            if (_start == _end && !await FillAsync())
            {
                return null;
            }

            long type = await ReadNumberAsync();
            long length = await ReadNumberAsync();
            switch (type)
            {
                case Http3Bytes.DataType:
                case Http3Bytes.HeadersType:
                    _dataLeft = length;
                    return type;
                case 0x02 or 0x06 or 0x08 or 0x09:
                    throw new InvalidDataException($"A frame of type {type}, which is HTTP/2's (RFC 9114, section 7.2.8)");
                case <= Http3Bytes.MaxPushIdType:
                    throw new InvalidDataException($"A frame of type {type} on a request stream");
                default:
                    UnknownFrames.Add(type);
                    for (; length > 0; length--)
                    {
                        await RequireAsync(1);
                        _start++;
                    }

                    break;
            }
        }
    }

    private async Task<IReadOnlyList<(string Name, string Value)>> ReadFieldsAsync()
    {
        byte[] section = new byte[_dataLeft];
        for (int filled = 0; filled < section.Length;)
        {
            await RequireAsync(1);
            int count = Math.Min(section.Length - filled, _end - _start);
            _input.AsSpan(_start, count).CopyTo(section.AsSpan(filled));
            _start += count;
            filled += count;
        }

        _dataLeft = 0;
        return await _connection.DecodeAsync(Id, section);
    }

    private async Task<long> ReadNumberAsync()
    {
        long value;
        int length;
        while (!Http3Bytes.TryReadNumber(_input.AsSpan(_start, _end - _start), out value, out length))
        {
            await RequireAsync(_end - _start + 1);
        }

        _start += length;
        return value;
    }

    /// <summary>Waits until so many bytes are in the buffer.</summary>
    private async Task RequireAsync(int count)
    {
        while (_end - _start < count)
        {
            if (!await FillAsync())
            {
                throw new InvalidDataException("The stream ends within a frame");
            }
        }
    }

    private async Task<bool> FillAsync()
    {
        _input.AsSpan(_start, _end - _start).CopyTo(_input);
        (_start, _end) = (0, _end - _start);
        int count = await ReadAsync(_input.AsMemory(_end));
        _end += count;
        return count > 0;
    }

    private sealed class PendingRead(Memory<byte> bytes)
    {
        public Memory<byte> Bytes => bytes;

        public TaskCompletionSource<int> Done { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);
    }

    private sealed class PendingWrite(ReadOnlyMemory<byte> bytes, bool isEnd)
    {
        private int _sent;

        public TaskCompletionSource Done { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);

        /// <summary>False: there is no room for all of it now.</summary>
        public bool TrySend(QuicStream stream)
        {
            _sent += stream.Write(bytes.Span[_sent..]);
            if (_sent < bytes.Length)
            {
                return false;
            }

            if (isEnd)
            {
                stream.Finish();
            }

            Done.TrySetResult();
            return true;
        }
    }
}

/// <summary>A whole response.</summary>
internal sealed record Http3TestResponse(
    IReadOnlyList<IReadOnlyList<(string Name, string Value)>> Informational, IReadOnlyList<(string Name, string Value)> Head,
    byte[] Content, IReadOnlyList<(string Name, string Value)>? Trailers)
{
    public string Status => this[":status"] ?? "";

    /// <summary>The value of a field, lines joined; null where there is none.</summary>
    public string? this[string name]
    {
        get
        {
            string[] values = [.. Head.Where(field => field.Name == name).Select(static field => field.Value)];
            return values.Length == 0 ? null : string.Join(", ", values);
        }
    }
}
