using System.Diagnostics;

namespace Millrace.Http;

/// <summary>
/// Reads the peer's control stream from pieces of any size, RFC 9114 sections 6.2.1 and 7.2, and checks the identifiers in its frames. It
/// allocates only if a frame comes in pieces, up to <see cref="Http3FrameReader.ControlBytesMax"/> once. After an error, which ends the
/// connection, it must not be used again.
/// </summary>
/// <param name="isServer">Whether this end is the server.</param>
internal sealed class Http3ControlReader(bool isServer)
{
    private Http3FrameReader _frames = new(isServer ? Http3StreamKind.ClientControl : Http3StreamKind.ServerControl);
    private byte[] _buffer = [];
    private int _bufferedBytes;
    private long _goAwayMax = Http3Integer.Max;
    private long _pushIdMin;

    /// <summary>The peer's settings; the defaults until they come.</summary>
    public Http3Settings Settings { get; private set; } = new();

    /// <summary>The stream or the push of the last frame.</summary>
    public long Id { get; private set; }

    /// <summary>The priority in the last PRIORITY_UPDATE.</summary>
    public StreamPriority Priority { get; private set; }

    /// <summary>Whether a frame has begun, and more of it must come.</summary>
    public bool IsWithinFrame => _frames.IsWithinFrame && !_frames.IsAtPayloadEnd;

    /// <summary>The code of an error, which is one of the connection.</summary>
    public long Error { get; private set; }

    /// <summary>Reads to the end of the next frame, or of the input.</summary>
    /// <param name="input">The bytes after those used so far.</param>
    /// <param name="consumed">How many of them were used: all if more is needed.</param>
    public Http3ControlEvent Read(ReadOnlySpan<byte> input, out int consumed)
    {
        Debug.Assert(Error == Http3Error.None);
        consumed = 0;
        while (true)
        {
            Http3FrameEvent frame = _frames.Read(input[consumed..], out int used, out ReadOnlySpan<byte> payload);
            consumed += used;
            switch (frame)
            {
                case Http3FrameEvent.NeedMore:
                    return Http3ControlEvent.NeedMore;
                case Http3FrameEvent.Error:
                    return Fail(_frames.Error);
                case Http3FrameEvent.Begin:
                    _bufferedBytes = 0;
                    if (!_frames.IsKnown)
                    {
                        return Http3ControlEvent.Unknown;
                    }

                    break;
                case Http3FrameEvent.Payload:
                    if (payload.Length == _frames.Length)
                    {
                        return Take(payload);
                    }

                    Buffer(payload);
                    if (_frames.Left == 0)
                    {
                        return Take(_buffer.AsSpan(0, _bufferedBytes));
                    }

                    break;
                default:
                    if (_frames.IsKnown && _frames.Length == 0)
                    {
                        return Take([]);
                    }

                    break;
            }
        }
    }

    private void Buffer(ReadOnlySpan<byte> piece)
    {
        if (_buffer.Length < _frames.Length)
        {
            Array.Resize(ref _buffer, (int)_frames.Length);
        }

        piece.CopyTo(_buffer.AsSpan(_bufferedBytes));
        _bufferedBytes += piece.Length;
    }

    private Http3ControlEvent Take(ReadOnlySpan<byte> payload)
    {
        if (_frames.Type == Http3FrameType.Settings)
        {
            bool isValid = Http3Settings.TryParse(payload, out Http3Settings settings, out long error);
            Settings = settings;
            return isValid ? Http3ControlEvent.Settings : Fail(error);
        }

        // Section 7.1: an identifier that is longer or, without a value after it, shorter than the payload is a frame error.
        bool isUpdate = _frames.Type is Http3FrameType.PriorityUpdate or Http3FrameType.PushPriorityUpdate;
        if (!Http3Integer.TryRead(payload, out long id, out int length) || (!isUpdate && length != payload.Length))
        {
            return Fail(Http3Error.FrameError);
        }

        Id = id;
        return _frames.Type switch
        {
            Http3FrameType.GoAway => TakeGoAway(),
            Http3FrameType.MaxPushId => TakeMaxPushId(),
            Http3FrameType.PriorityUpdate => TakePriority(payload[length..]),

            // Section 7.2.3 and RFC 9218 section 7.2: nothing was promised, and nothing may be.
            _ => Fail(Http3Error.IdError),
        };
    }

    /// <summary>Section 5.2: a server names a request's stream, a client a push, and later frames name none that is larger.</summary>
    private Http3ControlEvent TakeGoAway()
    {
        if (Id > _goAwayMax || (!isServer && !IsRequestStream(Id)))
        {
            return Fail(Http3Error.IdError);
        }

        _goAwayMax = Id;
        return Http3ControlEvent.GoAway;
    }

    /// <summary>Section 7.2.7.</summary>
    private Http3ControlEvent TakeMaxPushId()
    {
        if (Id < _pushIdMin)
        {
            return Fail(Http3Error.IdError);
        }

        _pushIdMin = Id;
        return Http3ControlEvent.MaxPushId;
    }

    private Http3ControlEvent TakePriority(ReadOnlySpan<byte> value)
    {
        if (!IsRequestStream(Id))
        {
            return Fail(Http3Error.IdError);
        }

        Priority = StreamPriority.Parse(value);
        return Http3ControlEvent.PriorityUpdate;
    }

    /// <summary>RFC 9000 section 2.1: bidirectional and opened by the client.</summary>
    private static bool IsRequestStream(long id) => (id & 3) == 0;

    private Http3ControlEvent Fail(long error)
    {
        Error = error;
        return Http3ControlEvent.Error;
    }
}

/// <summary>A result of <see cref="Http3ControlReader.Read"/>.</summary>
internal enum Http3ControlEvent : byte
{
    /// <summary>The input is used up.</summary>
    NeedMore,

    Settings,

    GoAway,

    /// <summary>A client allows pushes, which this server never makes.</summary>
    MaxPushId,

    /// <summary>A client sets the priority of a stream. Whether the stream is within its limit is not checked.</summary>
    PriorityUpdate,

    /// <summary>A frame of an unknown type begins, and will be skipped.</summary>
    Unknown,

    Error,
}
