using Millrace.Http;
using Millrace.HttpServer.Tests.Kit;
using Millrace.Tests.Shared;

namespace Millrace.HttpServer.Tests.Http2.Kit;

/// <summary>
/// A client that writes and reads frames, and knows of HTTP/2 what it takes to put answers together. Bounded by its wire's deadline.
/// </summary>
internal sealed class Http2Wire(Wire wire) : IHpackSink
{
    public const string Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

    public static readonly byte[] PrefaceBytes = System.Text.Encoding.ASCII.GetBytes(Preface);

    private readonly HpackDecoder _decoder = new();
    private readonly Dictionary<int, Exchange> _exchanges = [];
    private readonly List<(string, string)> _fields = [];
    private readonly List<byte> _block = [];
    private FrameFlags _blockFlags;

    public Wire Wire => wire;

    /// <summary>The server's first frame.</summary>
    public Frame ServerSettings { get; private set; } = null!;

    /// <summary>Whether every byte that comes is allowed again at once.</summary>
    public bool OpensWindows { get; init; } = true;

    /// <summary>How many bytes it allows at a time, where more have come; then also of streams that are at their end.</summary>
    public int UpdateBytesMax { get; set; } = int.MaxValue;

    /// <summary>In the order in which their DATA came.</summary>
    public List<int> DataOrder { get; } = [];

    /// <summary>A session that has begun: both sides know each other's settings.</summary>
    public static async Task<Http2Wire> OpenAsync(
        RunningSite site, bool opensWindows = true, int receiveBufferBytes = 0, params (SettingId Id, uint Value)[] settings) =>
        await OpenOnAsync(await site.ConnectAsync(receiveBufferBytes), opensWindows, settings);

    /// <summary>The same on a connection that was made.</summary>
    public static async Task<Http2Wire> OpenOnAsync(Wire wire, bool opensWindows, params (SettingId Id, uint Value)[] settings)
    {
        var client = new Http2Wire(wire) { OpensWindows = opensWindows };
        await client.Wire.SendAsync(Preface);
        await client.SendAsync(Frame.Settings(settings));
        client.ServerSettings = await client.ReadFrameAsync();
        Assert.Equal(FrameType.Settings, client.ServerSettings.Type);
        Assert.False(client.ServerSettings.IsAck);
        await client.SendAsync(Frame.SettingsAck());
        Frame ack = await client.ReadFrameAsync();
        Assert.True(ack is { Type: FrameType.Settings, IsAck: true }, $"{ack.Type} is no acknowledgement");
        return client;
    }

    public Task SendAsync(params ReadOnlySpan<byte[]> frames)
    {
        byte[] all = new byte[frames.ToArray().Sum(static frame => frame.Length)];
        int at = 0;
        foreach (byte[] frame in frames)
        {
            frame.CopyTo(all, at);
            at += frame.Length;
        }

        return wire.SendAsMuchAsWelcomeAsync(all);
    }

    public async Task<Frame> ReadFrameAsync()
    {
        byte[] head = await wire.ReadBytesAsync(Frame.HeaderBytes);
        int length = (head[0] << 16) | (head[1] << 8) | head[2];
        int streamId = ((head[5] & 0x7F) << 24) | (head[6] << 16) | (head[7] << 8) | head[8];
        return new Frame((FrameType)head[3], (FrameFlags)head[4], streamId, await wire.ReadBytesAsync(length));
    }

    /// <summary>Reads frames up to one of this type, and takes those before it.</summary>
    public async Task<Frame> ReadUntilAsync(FrameType type, Func<Frame, bool>? also = null)
    {
        while (true)
        {
            Frame frame = await ReadFrameAsync();
            if (frame.Type == type && also?.Invoke(frame) != false)
            {
                return frame;
            }

            await TakeAsync(frame);
        }
    }

    /// <summary>Reads frames up to one of either type, and takes those before it.</summary>
    public async Task<Frame> ReadUntilAsync(FrameType type, FrameType other)
    {
        while (true)
        {
            Frame frame = await ReadFrameAsync();
            if (frame.Type == type || frame.Type == other)
            {
                return frame;
            }

            await TakeAsync(frame);
        }
    }

    public async Task<Response> GetAsync(int streamId, string path, params string[] fields)
    {
        await SendAsync(Frame.Headers(streamId, Block.Get(path, fields)));
        return await ReadResponseAsync(streamId);
    }

    public async Task<Response> ReadResponseAsync(int streamId) => (await ReadAsync(streamId)).ToResponse();

    /// <summary>Reads until a stream is over, and whatever comes before.</summary>
    public async Task<Exchange> ReadAsync(int streamId)
    {
        while (!Of(streamId).IsOver)
        {
            await TakeAsync(await ReadFrameAsync());
        }

        return Of(streamId);
    }

    /// <summary>Reads all that the server sends before it answers a PING: everything that it has to say now.</summary>
    public async Task SettleAsync()
    {
        byte[] mark = [.. "settled "u8];
        await SendAsync(Frame.Ping(mark));
        await ReadUntilAsync(FrameType.Ping, frame => frame.IsAck && frame.Payload.AsSpan().SequenceEqual(mark));
    }

    public Exchange Of(int streamId)
    {
        if (!_exchanges.TryGetValue(streamId, out Exchange? exchange))
        {
            _exchanges[streamId] = exchange = new Exchange();
        }

        return exchange;
    }

    /// <summary>Asserts that the server says GOAWAY with this error, and ends the connection in order.</summary>
    public async Task AssertFailsAsync(Http2Error error)
    {
        Frame end = await ReadUntilAsync(FrameType.GoAway);
        Assert.Equal(error, end.Error);
        Assert.Equal(WireEnd.Finished, (await wire.ReadToEndAsync()).End);
    }

    /// <summary>Asserts that a stream is reset with this error, and that the connection serves others still.</summary>
    public async Task AssertResetsAsync(int streamId, Http2Error error, int nextStreamId = 1001)
    {
        Assert.Equal(error, (await ReadAsync(streamId)).Reset);
        Assert.Equal(404, (await GetAsync(nextStreamId, "/none")).Status);
    }

    public async Task TakeAsync(Frame frame)
    {
        Exchange exchange = Of(frame.StreamId);
        switch (frame.Type)
        {
            case FrameType.Data:
                Assert.False(exchange.IsOver, "DATA behind the end");
                Assert.True(exchange.HasHead, "DATA before HEADERS");
                exchange.Body.Write(frame.Payload);
                exchange.DataBytes.Add(frame.Payload.Length);
                DataOrder.Add(frame.StreamId);
                exchange.IsWhole = frame.IsLast;
                await OpenWindowsAsync(frame);
                break;
            case FrameType.Headers:
                Assert.False(exchange.IsOver, "HEADERS behind the end");
                _blockFlags = frame.Flags;
                TakeBlock(exchange, frame);
                break;
            case FrameType.Continuation:
                TakeBlock(exchange, frame);
                break;
            case FrameType.RstStream:
                exchange.Reset = frame.Error;
                break;
            case FrameType.Settings or FrameType.WindowUpdate or FrameType.Ping:
                break;
            default:
                Assert.Fail($"{frame.Type} on {frame.StreamId}: {Convert.ToHexString(frame.Payload)}");
                break;
        }
    }

    public void OnField(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value, int staticIndex) =>
        _fields.Add((System.Text.Encoding.Latin1.GetString(name), System.Text.Encoding.Latin1.GetString(value)));

    private async Task OpenWindowsAsync(Frame data)
    {
        for (int left = OpensWindows ? data.Payload.Length : 0; left > 0; left -= UpdateBytesMax)
        {
            uint bytes = (uint)Math.Min(left, UpdateBytesMax);
            byte[] connection = Frame.WindowUpdate(0, bytes);
            await (data.IsLast && UpdateBytesMax == int.MaxValue ? SendAsync(connection) : SendAsync(connection, Frame.WindowUpdate(data.StreamId, bytes)));
        }
    }

    private void TakeBlock(Exchange exchange, Frame frame)
    {
        _block.AddRange(frame.Payload);
        if ((frame.Flags & FrameFlags.EndHeaders) == 0)
        {
            return;
        }

        byte[] block = [.. _block];
        _block.Clear();
        _fields.Clear();
        Assert.Equal(HpackResult.Ok, _decoder.Decode(block, new byte[HpackDecoder.ScratchBytes(block.Length)], this));
        exchange.Fields.AddRange(_fields);
        exchange.IsWhole = (_blockFlags & FrameFlags.EndStream) != 0;
    }
}
