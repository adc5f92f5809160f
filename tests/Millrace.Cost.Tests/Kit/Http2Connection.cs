using System.Buffers.Binary;
using Millrace.Http;
using Millrace.Tests.Shared;

namespace Millrace.Cost.Tests.Kit;

/// <summary>The same request again and again over HTTP/2, in plain text and by prior knowledge, with windows that never fill.</summary>
internal sealed class Http2Connection : KeptConnection
{
    /// <summary>RFC 9113, section 6.9.1: what may be added to the 65,535 bytes there are at first.</summary>
    private const uint IncrementMax = int.MaxValue - 65_535;

    private readonly byte[] _block;
    private readonly byte[] _header = new byte[Frame.HeaderBytes];
    private readonly byte[] _payload = new byte[1 << 14];
    private int _streamId = -1;

    public Http2Connection(Uri server, string target)
        : base(server)
    {
        _block = Block.Get(target);
        Send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"u8);
        Send([.. Frame.Settings(), .. Frame.WindowUpdate(0, IncrementMax), .. Frame.SettingsAck()]);
        Ask();
    }

    public override void Ask(int requests = 1)
    {
        var frames = new List<byte>();
        for (int i = 0; i < requests; i++)
        {
            frames.AddRange(Frame.Headers(_streamId += 2, _block));
        }

        Send([.. frames]);
        for (int ended = 0; ended < requests;)
        {
            ended += TakeFrame() ? 1 : 0;
        }
    }

    /// <summary>Whether it was the last of an answer.</summary>
    private bool TakeFrame()
    {
        Fill(_header);
        Fill(_payload.AsSpan(0, BinaryPrimitives.ReadInt32BigEndian(_header) >>> 8));
        var type = (FrameType)_header[3];
        Assert.True(type is FrameType.Settings or FrameType.WindowUpdate or FrameType.Headers or FrameType.Data, $"A frame {type} came.");
        return type is FrameType.Headers or FrameType.Data && ((FrameFlags)_header[4] & FrameFlags.EndStream) != 0;
    }
}
