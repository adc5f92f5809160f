using System.Buffers;
using System.Text;
using Millrace.Http;
using Millrace.Quic.Connections;
using Millrace.Quic.Streams;
using Millrace.QuicTransport;
using Millrace.Server.Commands;

namespace Millrace.Server.Http3;

/// <summary>
/// A client's connection of HTTP/3 with one request (RFC 9114), which reads the response's head and no more. It announces no dynamic table,
/// so that sections are complete in themselves. An error of the server ends the connection with its code, and is the result. Reactor
/// thread, except the tasks.
/// </summary>
internal sealed class Http3ProbeRequest : IQuicConnectionHandler
{
    /// <summary>Enough for the fields of any server.</summary>
    private const int SectionBytesMax = 64 * 1024;

    private const byte MethodGet = 0xC0 | 17;
    private const byte SchemeHttps = 0xC0 | 23;
    private const byte AuthorityName = 0x50;
    private const byte PathName = 0x50 | 1;

    /// <summary>A lower status means that the server works.</summary>
    private const int FirstFailure = 500;

    private readonly Uri _url;
    private readonly TaskCompletionSource<ProbeResult> _result = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly TaskCompletionSource _ended = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly ArrayBufferWriter<byte> _section = new();
    private readonly QpackDecoder _fields = new(tableBytesMax: 0, blockedStreamsMax: 0);
    private readonly Http3ProbeStreams _others;
    private Http3FrameReader _frames = new(Http3StreamKind.Response);
    private QuicClientConnection? _connection;
    private QuicStream? _stream;
    private bool _isOver;

    public Http3ProbeRequest(Uri url)
    {
        _url = url;
        _others = new Http3ProbeStreams(_fields);
    }

    public Task<ProbeResult> Result => _result.Task;

    /// <summary>The connection is over.</summary>
    public Task Ended => _ended.Task;

    private bool HasResult => _result.Task.IsCompleted;

    /// <summary>The host and the port of a URL, without a user (section 4.3.1).</summary>
    public static string AuthorityOf(Uri url)
    {
        string host = url.HostNameType == UriHostNameType.IPv6 ? url.Host : url.IdnHost;
        return url.IsDefaultPort ? host : $"{host}:{url.Port}";
    }

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
        if (_isOver)
        {
            return;
        }

        long error = stream == _stream ? ReadResponse(stream, events) : _others.Read(stream, events);
        if (error != Http3Error.None)
        {
            _isOver = true;
            Fail(error == Http3Error.MessageError ? "sent a response that is not valid" : "did not respond with HTTP/3");
            _connection?.Close(error, "");
        }
        else if (stream == _stream && (events & StreamEvents.Closed) != 0)
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

    private byte[] WriteRequest()
    {
        byte[] authority = Encoding.ASCII.GetBytes(AuthorityOf(_url));
        byte[] path = Encoding.ASCII.GetBytes(_url.PathAndQuery);
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

    /// <summary>Reads the response as far as its head. Returns the code of an error, or None.</summary>
    private long ReadResponse(QuicStream stream, StreamEvents events)
    {
        long error = Http3Error.None;
        while (!HasResult && error == Http3Error.None && stream.TryRead(out ReadOnlySpan<byte> bytes))
        {
            error = Read(bytes);
            stream.Consume(bytes.Length);
        }

        if (HasResult || error != Http3Error.None)
        {
            return error;
        }

        if ((events & StreamEvents.Reset) != 0)
        {
            Fail("reset the request");
            return Http3Error.None;
        }

        // An informational response alone is none.
        return !stream.IsReadToEnd ? Http3Error.None
            : _frames.ErrorOfEnd != Http3Error.None ? _frames.ErrorOfEnd
            : Http3Error.MessageError;
    }

    private long Read(ReadOnlySpan<byte> bytes)
    {
        long error = Http3Error.None;
        while (!HasResult && error == Http3Error.None)
        {
            Http3FrameEvent read = _frames.Read(bytes, out int consumed, out ReadOnlySpan<byte> payload);
            bytes = bytes[consumed..];
            switch (read)
            {
                case Http3FrameEvent.NeedMore:
                    return Http3Error.None;
                case Http3FrameEvent.Error:
                    return _frames.Error;
                case Http3FrameEvent.Begin when _frames.Type == Http3FrameType.Data:
                    // Section 4.1: informational responses have no content, and the response's head has not come.
                    return Http3Error.MessageError;
                case Http3FrameEvent.Begin when _frames.Type == Http3FrameType.Headers && _frames.Length > SectionBytesMax:
                    Fail("responded with a head that is too large");
                    return Http3Error.ExcessiveLoad;
                case Http3FrameEvent.Payload when _frames.Type == Http3FrameType.Headers:
                    _section.Write(payload);
                    break;
                case Http3FrameEvent.End when _frames.Type == Http3FrameType.Headers:
                    error = EndSection();
                    break;
            }
        }

        return error;
    }

    private long EndSection()
    {
        byte[] section = _section.WrittenSpan.ToArray();
        _section.ResetWrittenCount();
        byte[] scratch = new byte[QpackDecoder.ScratchBytes(0, section.Length)];
        var response = new Http3ProbeResponse();
        long error = QpackResults.ErrorOfSection(_fields.Decode(_stream!.Id, section, scratch, response));
        if (error != Http3Error.None)
        {
            return error;
        }

        if (response.IsMalformed)
        {
            return Http3Error.MessageError;
        }

        if (!response.IsInformational)
        {
            bool isHealthy = response.Status < FirstFailure;
            _result.TrySetResult(new ProbeResult(isHealthy, $"{_url} responded over HTTP/3 with status {response.Status}."));
        }

        return Http3Error.None;
    }

    private void Fail(string what) => _result.TrySetResult(new ProbeResult(false, $"{_url} {what}."));
}
