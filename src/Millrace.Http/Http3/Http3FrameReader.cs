using System.Diagnostics;

namespace Millrace.Http;

/// <summary>
/// Reads the frames of one stream from pieces of any size, and checks which frames the stream may have and in which order, RFC 9114
/// sections 4.1, 6.2.1 and 7. It has no memory for payloads: the caller gets them in the pieces in which they come. After an error, which
/// ends the connection, it must not be used again.
/// </summary>
/// <remarks>
/// The length of DATA and HEADERS is not limited here; the caller sees it at the frame's start. Nothing is ever pushed, so that every frame
/// about a push is an error.
/// </remarks>
internal struct Http3FrameReader(Http3StreamKind kind)
{
    /// <summary>
    /// The maximum payload of a frame on a control stream. Settings have 16 bytes at most, and clients send less than ten of them; a
    /// priority has a few bytes.
    /// </summary>
    public const int ControlBytesMax = 4096;

    private Http3IntegerReader _integer;
    private Phase _phase;
    private Progress _progress;
    private bool _expectsOnlyData;

    /// <summary>The frame that began last.</summary>
    public Http3FrameType Type { get; private set; }

    /// <summary>The bytes of its payload.</summary>
    public long Length { get; private set; }

    /// <summary>How many bytes of its payload have not been read yet.</summary>
    public long Left { get; private set; }

    /// <summary>Whether a meaning of its type is known; otherwise its payload is skipped.</summary>
    public bool IsKnown { get; private set; }

    /// <summary>The code of an error, which is one of the connection.</summary>
    public long Error { get; private set; }

    /// <summary>Whether the last HEADERS are the trailers of the message.</summary>
    public readonly bool IsTrailers => _progress == Progress.Trailers;

    /// <summary>Whether HEADERS have begun.</summary>
    public readonly bool HasMessage => _progress != Progress.None;

    /// <summary>Whether the stream would be truncated if it ended here.</summary>
    public readonly bool IsWithinFrame => _phase != Phase.Type || _integer.IsWithin;

    /// <summary>Whether all of a payload was given, and <see cref="Http3FrameEvent.End"/> follows without more input.</summary>
    public readonly bool IsAtPayloadEnd => _phase == Phase.Payload && Left == 0;

    /// <summary>
    /// The error if the stream ends cleanly here: FrameError and ClosedCriticalStream end the connection, RequestIncomplete the stream.
    /// </summary>
    public readonly long ErrorOfEnd => IsControl ? Http3Error.ClosedCriticalStream
        : IsWithinFrame ? Http3Error.FrameError
        : HasMessage ? Http3Error.None
        : kind == Http3StreamKind.Request ? Http3Error.RequestIncomplete
        : Http3Error.MessageError;

    private readonly bool IsControl => kind is Http3StreamKind.ClientControl or Http3StreamKind.ServerControl;

    /// <summary>After the HEADERS of an accepted CONNECT (section 4.4): all that follows is DATA, and what extensions define.</summary>
    public void ExpectOnlyData() => _expectsOnlyData = true;

    /// <summary>Reads on. The input is used up only if more is needed; otherwise the caller reads on after what was used.</summary>
    /// <param name="input">The bytes after those used so far.</param>
    /// <param name="consumed">How many of them were used.</param>
    /// <param name="payload">The piece of a payload, a part of the input; otherwise empty.</param>
    public Http3FrameEvent Read(ReadOnlySpan<byte> input, out int consumed, out ReadOnlySpan<byte> payload)
    {
        Debug.Assert(Error == Http3Error.None);
        consumed = 0;
        payload = default;
        if (_phase == Phase.Type)
        {
            if (!_integer.TryRead(input, ref consumed, out long type))
            {
                return Http3FrameEvent.NeedMore;
            }

            Type = (Http3FrameType)type;
            _phase = Phase.Length;
            Error = CheckType();
            if (Error != Http3Error.None)
            {
                return Http3FrameEvent.Error;
            }
        }

        if (_phase == Phase.Length)
        {
            if (!_integer.TryRead(input, ref consumed, out long length))
            {
                return Http3FrameEvent.NeedMore;
            }

            Length = Left = length;
            _phase = Phase.Payload;
            Error = CheckLength();
            return Error == Http3Error.None ? Http3FrameEvent.Begin : Http3FrameEvent.Error;
        }

        return ReadPayload(input, out consumed, out payload);
    }

    /// <summary>
    /// Gives back the last bytes of the piece of a payload that was just read: the caller takes them as not consumed, and reads them again.
    /// </summary>
    public void Unread(int bytes)
    {
        Debug.Assert(_phase == Phase.Payload && bytes >= 0 && bytes <= Length - Left);
        Left += bytes;
    }

    private Http3FrameEvent ReadPayload(ReadOnlySpan<byte> input, out int consumed, out ReadOnlySpan<byte> payload)
    {
        payload = default;
        consumed = (int)Math.Min(Left, input.Length);
        Left -= consumed;
        if (consumed > 0 && IsKnown)
        {
            payload = input[..consumed];
            return Http3FrameEvent.Payload;
        }

        if (Left > 0)
        {
            return Http3FrameEvent.NeedMore;
        }

        _phase = Phase.Type;
        return Http3FrameEvent.End;
    }

    private long CheckType()
    {
        IsKnown = true;
        if (kind is Http3StreamKind.ClientControl or Http3StreamKind.ServerControl)
        {
            return CheckControlType();
        }

        switch (Type)
        {
            case Http3FrameType.Data:
                return TakeData();
            case Http3FrameType.Headers:
                return TakeHeaders();
            case Http3FrameType.PushPromise when kind == Http3StreamKind.Response:
                // Section 7.2.5: the identifier is larger than any that was allowed.
                return Http3Error.IdError;
            case Http3FrameType.PushPromise or Http3FrameType.CancelPush or Http3FrameType.Settings or Http3FrameType.GoAway:
            case Http3FrameType.MaxPushId or Http3FrameType.PriorityUpdate or Http3FrameType.PushPriorityUpdate:
                return Http3Error.FrameUnexpected;
            default:
                return CheckUnknownType();
        }
    }

    private long CheckControlType()
    {
        if (_progress == Progress.None)
        {
            _progress = Progress.Head;
            return Type == Http3FrameType.Settings ? Http3Error.None : Http3Error.MissingSettings;
        }

        bool isServer = kind == Http3StreamKind.ClientControl;
        return Type switch
        {
            Http3FrameType.Data or Http3FrameType.Headers or Http3FrameType.PushPromise or Http3FrameType.Settings
                => Http3Error.FrameUnexpected,
            Http3FrameType.MaxPushId or Http3FrameType.PriorityUpdate or Http3FrameType.PushPriorityUpdate
                => isServer ? Http3Error.None : Http3Error.FrameUnexpected,
            Http3FrameType.GoAway or Http3FrameType.CancelPush => Http3Error.None,
            _ => CheckUnknownType(),
        };
    }

    /// <summary>Sections 7.2.8 and 11.2.1: HTTP/2's types without a counterpart are errors. All others are skipped.</summary>
    private long CheckUnknownType()
    {
        IsKnown = false;
        return (long)Type is 0x02 or 0x06 or 0x08 or 0x09 ? Http3Error.FrameUnexpected : Http3Error.None;
    }

    private long TakeData()
    {
        if (_progress is Progress.None or Progress.Trailers)
        {
            return Http3Error.FrameUnexpected;
        }

        _progress = Progress.Body;
        return Http3Error.None;
    }

    /// <summary>
    /// Section 4.1: the head, then perhaps trailers. A response's head may follow interim ones; those that come before DATA cannot be told
    /// from trailers without their fields, so that the caller decides.
    /// </summary>
    private long TakeHeaders()
    {
        if (_progress == Progress.Trailers || _expectsOnlyData)
        {
            return Http3Error.FrameUnexpected;
        }

        bool isHead = _progress == Progress.None || (_progress == Progress.Head && kind == Http3StreamKind.Response);
        _progress = isHead ? Progress.Head : Progress.Trailers;
        return Http3Error.None;
    }

    private readonly long CheckLength()
    {
        if (!IsControl || !IsKnown)
        {
            return Http3Error.None;
        }

        return Type switch
        {
            Http3FrameType.GoAway or Http3FrameType.CancelPush or Http3FrameType.MaxPushId
                => Length is 1 or 2 or 4 or 8 ? Http3Error.None : Http3Error.FrameError,
            Http3FrameType.PriorityUpdate or Http3FrameType.PushPriorityUpdate when Length == 0 => Http3Error.FrameError,
            _ => Length <= ControlBytesMax ? Http3Error.None : Http3Error.ExcessiveLoad,
        };
    }

    private enum Phase : byte
    {
        Type,
        Length,
        Payload,
    }

    /// <summary>Of a message; on a control stream, Head means that the settings have begun.</summary>
    private enum Progress : byte
    {
        None,
        Head,
        Body,
        Trailers,
    }
}

/// <summary>A result of <see cref="Http3FrameReader.Read"/>.</summary>
internal enum Http3FrameEvent : byte
{
    /// <summary>The input is used up.</summary>
    NeedMore,

    /// <summary>The type and the length of a frame are known.</summary>
    Begin,

    /// <summary>A piece of the payload of a frame of a known type.</summary>
    Payload,

    /// <summary>The frame is complete.</summary>
    End,

    /// <summary>The peer violates the protocol.</summary>
    Error,
}

/// <summary>What a stream is for, and who reads it.</summary>
internal enum Http3StreamKind : byte
{
    /// <summary>A request, read by a server.</summary>
    Request,

    /// <summary>A response, read by a client.</summary>
    Response,

    /// <summary>The client's control stream, read by a server.</summary>
    ClientControl,

    /// <summary>The server's control stream, read by a client.</summary>
    ServerControl,
}

/// <summary>The types of HTTP/3 frames, RFC 9114 section 7.2 and RFC 9218 section 7.2. Frames of other types are skipped.</summary>
internal enum Http3FrameType : long
{
    Data = 0x00,
    Headers = 0x01,
    CancelPush = 0x03,
    Settings = 0x04,
    PushPromise = 0x05,
    GoAway = 0x07,
    MaxPushId = 0x0D,
    PriorityUpdate = 0xF0700,
    PushPriorityUpdate = 0xF0701,
}
