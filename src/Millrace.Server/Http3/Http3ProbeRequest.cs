using System.Buffers;
using System.Buffers.Text;
using System.Text;
using Millrace.Http;
using Millrace.Quic.Connections;
using Millrace.Quic.Streams;
using Millrace.QuicTransport;
using Millrace.Server.Commands;

namespace Millrace.Server.Http3;

/// <summary>
/// A client's connection of HTTP/3 with one request (RFC 9114), which reads the response's status and no more. It announces no dynamic
/// table, so that sections are complete in themselves. Reactor thread, except the tasks.
/// </summary>
internal sealed class Http3ProbeRequest(Uri url) : IQuicConnectionHandler, IHpackSink
{
    /// <summary>A status comes first in a section (RFC 9114, section 4.3): enough for the fields of any server.</summary>
    private const int SectionBytesMax = 64 * 1024;

    private const byte MethodGet = 0xC0 | 17;
    private const byte SchemeHttps = 0xC0 | 23;
    private const byte AuthorityName = 0x50;
    private const byte PathName = 0x50 | 1;

    /// <summary>A lower status means that the server works.</summary>
    private const int FirstFailure = 500;

    private readonly TaskCompletionSource<ProbeResult> _result = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly TaskCompletionSource _ended = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly ArrayBufferWriter<byte> _section = new();
    private readonly QpackDecoder _fields = new(tableBytesMax: 0, blockedStreamsMax: 0);
    private Http3FrameReader _frames = new(Http3StreamKind.Response);
    private QuicClientConnection? _connection;
    private QuicStream? _stream;
    private int _status;

    public Task<ProbeResult> Result => _result.Task;

    /// <summary>The connection is over.</summary>
    public Task Ended => _ended.Task;

    public void Begin(QuicClientConnection connection) => _connection = connection;

    public void End() => _connection?.Close(Http3Error.NoError, "");

    public void OnHandshakeComplete(QuicConnection connection)
    {
        if (!connection.Streams.TryOpen(isBidirectional: false, out QuicStream? control)
            || !connection.Streams.TryOpen(isBidirectional: true, out _stream))
        {
            Fail("allows no streams");
            return;
        }

        Span<byte> bytes = stackalloc byte[Http3FrameWriter.SettingsBytesMax + (2 * Http3FrameWriter.HeaderBytesMax)];
        int count = Http3FrameWriter.StreamType(bytes, Http3StreamType.Control);
        count += Http3FrameWriter.Settings(bytes[count..], new Http3Settings());
        _ = control!.Write(bytes[..count]);
        byte[] section = WriteRequest();
        count = Http3FrameWriter.WriteHeader(bytes, Http3FrameType.Headers, section.Length);
        _ = _stream!.Write(bytes[..count]);
        if (_stream.Write(section) < section.Length)
        {
            Fail("has no room for the request");
            return;
        }

        _stream.Finish();
    }

    public void OnStream(QuicConnection connection, QuicStream stream, StreamEvents events)
    {
        if (stream != _stream)
        {
            while (stream.TryRead(out ReadOnlySpan<byte> ignored))
            {
                stream.Consume(ignored.Length);
            }

            return;
        }

        while (_status == 0 && stream.TryRead(out ReadOnlySpan<byte> bytes))
        {
            Read(bytes);
            stream.Consume(bytes.Length);
        }

        if (_status == 0 && (stream.IsReadToEnd || (events & (StreamEvents.Reset | StreamEvents.Closed)) != 0))
        {
            Fail("reset the request");
        }

        if ((events & StreamEvents.Closed) != 0)
        {
            _stream = null;
        }
    }

    public void OnStreamsAvailable(QuicConnection connection)
    {
    }

    public void OnNewToken(QuicConnection connection, ReadOnlySpan<byte> token)
    {
    }

    public void OnClosed(QuicConnection connection, in CloseReason reason)
    {
        Fail(reason.Source switch
        {
            CloseSource.Timeout => "does not respond over HTTP/3: is UDP open on the way?",
            CloseSource.Peer when reason.Phrase.Length == 0 => $"closed the connection (error {reason.Code:X})",
            _ => $"cannot be asked over HTTP/3: {reason.Phrase}",
        });
        _ended.TrySetResult();
    }

    void IHpackSink.OnField(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value, int staticIndex)
    {
        if (name.SequenceEqual(":status"u8) && Utf8Parser.TryParse(value, out int status, out _))
        {
            // An informational response comes before the final one.
            _status = status >= 200 ? status : 0;
        }
    }

    private byte[] WriteRequest()
    {
        byte[] authority = Encoding.ASCII.GetBytes(url.IsDefaultPort ? url.IdnHost : $"{url.IdnHost}:{url.Port}");
        byte[] path = Encoding.ASCII.GetBytes(url.PathAndQuery);
        byte[] section = new byte[QpackBlockWriter.PrefixBytes + 4 + (2 * QpackInteger.BytesMax) + authority.Length + path.Length];
        int count = QpackBlockWriter.PrefixBytes;
        section[count++] = MethodGet;
        section[count++] = SchemeHttps;
        Literal(AuthorityName, authority);
        Literal(PathName, path);
        return section[..count];

        void Literal(byte name, byte[] value)
        {
            section[count++] = name;
            count += QpackInteger.Write(section.AsSpan(count), 0, 7, value.Length);
            value.CopyTo(section, count);
            count += value.Length;
        }
    }

    private void Read(ReadOnlySpan<byte> bytes)
    {
        while (!bytes.IsEmpty && _status == 0)
        {
            Http3FrameEvent read = _frames.Read(bytes, out int consumed, out ReadOnlySpan<byte> payload);
            bytes = bytes[consumed..];
            switch (read)
            {
                case Http3FrameEvent.Payload when _frames.Type == Http3FrameType.Headers:
                    _section.Write(payload);
                    if (_section.WrittenCount > SectionBytesMax)
                    {
                        Fail("responded with a head that is too large");
                        return;
                    }

                    break;
                case Http3FrameEvent.End when _frames.Type == Http3FrameType.Headers:
                    ReadSection();
                    break;
                case Http3FrameEvent.Error:
                    Fail("did not respond with HTTP/3");
                    return;
            }
        }
    }

    private void ReadSection()
    {
        byte[] section = _section.WrittenSpan.ToArray();
        _section.ResetWrittenCount();
        byte[] scratch = new byte[QpackDecoder.ScratchBytes(0, section.Length)];
        if (_fields.Decode(0, section, scratch, this) != QpackResult.Ok)
        {
            Fail("did not respond with HTTP/3");
        }
        else if (_status > 0)
        {
            _result.TrySetResult(
                new ProbeResult(_status < FirstFailure, $"{url} responded over HTTP/3 with status {_status}."));
        }
    }

    private void Fail(string what) => _result.TrySetResult(new ProbeResult(false, $"{url} {what}."));
}
