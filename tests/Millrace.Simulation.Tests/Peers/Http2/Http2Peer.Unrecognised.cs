using System.Runtime.InteropServices;
using System.Text;
using Millrace.Engine.Listening;
using Millrace.Http;

namespace Millrace.Simulation.Tests.Peers.Http2;

/// <content>
/// Who has not said its preface in time has said nothing that tells HTTP/2 from HTTP/1.1, and is told so in HTTP/1.1 (RFC 9113, section 3.4).
/// </content>
internal sealed partial class Http2Peer
{
    private bool _isUnrecognised;

    private long EarliestTimeoutMs => _streams[0].BeganAtMs + (long)World.Shape.HttpLimits.Head.TotalMilliseconds;

    private static ReadOnlySpan<byte> Http1 => "HTTP/1.1 "u8;

    private void TakeUnrecognised()
    {
        ReadOnlySpan<byte> text = CollectionsMarshal.AsSpan(_input);
        if (!_isUnrecognised && World.NowMs < EarliestTimeoutMs && !Socket.MayBreak)
        {
            Fail("HTTP/1.1 was answered before the preface was late.");
        }

        _isUnrecognised = true;
        int end = text.IndexOf("\r\n\r\n"u8);
        if (end < 0)
        {
            return;
        }

        Response late = ExchangeGenerator.Trickled().Response;
        Response expected = Socket.Admission == AdmissionResult.Refused ? ExchangeGenerator.Refused(late) : late;
        ReadOnlySpan<byte> content = text[(end + 4)..];
        ReadOnlySpan<byte> whole = expected.Content[0].Span;
        if (expected.Check(text[..(end + 4)], out _) is { } wrong)
        {
            Fail($"What answers half a preface {wrong}: {Encoding.Latin1.GetString(text)}");
        }
        else if (!whole.StartsWith(content))
        {
            Fail($"What answers half a preface has a foreign byte: {Encoding.Latin1.GetString(text)}");
        }
        else if (content.Length == whole.Length)
        {
            _goAway = Http2Error.NoError;
            _lastStreamId = 0;
        }
    }
}
