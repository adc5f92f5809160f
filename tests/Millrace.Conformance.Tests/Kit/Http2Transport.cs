using Millrace.Http;
using Millrace.Models;
using Millrace.Tests.Shared;

namespace Millrace.Conformance.Tests.Kit;

/// <summary>
/// A gateway from HTTP/1.1 to HTTP/2: each request that is written becomes a stream, and what answers it is read as a response of HTTP/1.1,
/// one after the other. So a test asks the same in either version. Windows are opened by what was read, so that the server waits for a
/// reader that is slow.
/// </summary>
/// <param name="carrier">What carries its frames. It is disposed of with this.</param>
/// <param name="scheme">What the requests are for.</param>
internal sealed class Http2Transport(Transport carrier, string scheme) : Transport
{
    private readonly ReferenceHpack _decoder = new();
    private readonly Queue<StreamResponse> _responses = new();
    private readonly List<byte> _written = [];
    private readonly List<byte> _block = [];
    private byte[] _input = [];
    private FrameFlags _blockFlags;
    private int _nextStreamId = 1;
    private bool _hasBegun;
    private bool _hasEnded;

    public override async ValueTask<int> SendAsync(ReadOnlyMemory<byte> bytes, CancellationToken cancellation)
    {
        if (!_hasBegun)
        {
            _hasBegun = true;
            byte[] preface = [.. "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"u8, .. Frame.Settings()];
            await carrier.SendAllAsync(preface, cancellation);
        }

        _written.AddRange(bytes.Span);
        while (StreamRequest.TryTake(_written) is { } request)
        {
            _responses.Enqueue(new StreamResponse(_nextStreamId, request.Method, request.IsLast));
            await carrier.SendAllAsync(request.ToHttp2Frames(_nextStreamId, scheme), cancellation);
            _nextStreamId += 2;
        }

        return bytes.Length;
    }

    public override async ValueTask<int> ReceiveAsync(Memory<byte> bytes, CancellationToken cancellation)
    {
        while (true)
        {
            if (_hasEnded || (_responses.TryPeek(out StreamResponse? response) && response.IsBroken))
            {
                return 0;
            }

            if (response is not null)
            {
                int count = response.Take(bytes.Span, out int dataBytes);
                if (dataBytes > 0)
                {
                    await OpenWindowsAsync(response, dataBytes, cancellation);
                }

                if (response.IsTaken)
                {
                    _responses.Dequeue();
                    _hasEnded = response.IsLast;
                }

                if (count > 0)
                {
                    return count;
                }
            }

            if (await ReadFrameAsync(cancellation) is not Frame frame)
            {
                return 0;
            }

            await TakeAsync(frame, cancellation);
        }
    }

    public override Task FinishSendingAsync() => carrier.FinishSendingAsync();

    public override void Dispose() => carrier.Dispose();

    private async Task TakeAsync(Frame frame, CancellationToken cancellation)
    {
        StreamResponse? response = _responses.FirstOrDefault(response => response.StreamId == frame.StreamId);
        switch (frame.Type)
        {
            case FrameType.Settings when !frame.IsAck:
                await carrier.SendAllAsync(Frame.SettingsAck(), cancellation);
                break;
            case FrameType.Headers:
                _blockFlags = frame.Flags;
                TakeBlock(response, frame);
                break;
            case FrameType.Continuation:
                TakeBlock(response, frame);
                break;
            case FrameType.Data:
                response?.AddData(frame.Payload, frame.IsLast);
                break;
            case FrameType.RstStream when response is not null && frame.Error == Http2Error.ProtocolError && !response.HasHead:
                // What cannot be parsed is answered so (RFC 9113, section 8.1.1); in HTTP/1.1 it has a status.
                response.AddHead([":status: 400", "content-length: 0"], isEnd: true);
                break;
            case FrameType.RstStream when response is not null:
                response.IsBroken = true;
                break;
            case FrameType.GoAway:
                Expect.That(frame.Error == Http2Error.NoError, $"GOAWAY with {frame.Error}");
                break;
        }
    }

    private void TakeBlock(StreamResponse? response, Frame frame)
    {
        _block.AddRange(frame.Payload);
        if ((frame.Flags & FrameFlags.EndHeaders) == 0)
        {
            return;
        }

        string[] lines = _decoder.Decode([.. _block]).Split('\n');
        _block.Clear();
        Expect.That(lines[^2] == "Ok", $"a field block that is {lines[^2]}");
        response?.AddHead(lines[..^2], (_blockFlags & FrameFlags.EndStream) != 0);
    }

    private async Task OpenWindowsAsync(StreamResponse response, int bytes, CancellationToken cancellation)
    {
        byte[] updates = Frame.WindowUpdate(0, (uint)bytes);
        if (!response.IsTaken)
        {
            updates = [.. updates, .. Frame.WindowUpdate((int)response.StreamId, (uint)bytes)];
        }

        await carrier.SendAllAsync(updates, cancellation);
    }

    private async Task<Frame?> ReadFrameAsync(CancellationToken cancellation)
    {
        if (await ReadAsync(Frame.HeaderBytes, cancellation) is not byte[] head)
        {
            return null;
        }

        int length = (head[0] << 16) | (head[1] << 8) | head[2];
        int streamId = ((head[5] & 0x7F) << 24) | (head[6] << 16) | (head[7] << 8) | head[8];
        return await ReadAsync(length, cancellation) is byte[] payload
            ? new Frame((FrameType)head[3], (FrameFlags)head[4], streamId, payload)
            : null;
    }

    /// <summary>Null at the end. What has come of a frame when the wait for it is given up is kept for the next.</summary>
    private async Task<byte[]?> ReadAsync(int count, CancellationToken cancellation)
    {
        byte[] bytes = new byte[count];
        for (int filled = 0; filled < count;)
        {
            int taken = Math.Min(count - filled, _input.Length);
            if (taken == 0)
            {
                byte[] more = new byte[64 * 1024];
                int read = await carrier.ReceiveAsync(more, cancellation);
                if (read == 0)
                {
                    return null;
                }

                _input = more[..read];
                continue;
            }

            _input.AsSpan(0, taken).CopyTo(bytes.AsSpan(filled));
            _input = _input[taken..];
            filled += taken;
        }

        return bytes;
    }
}
