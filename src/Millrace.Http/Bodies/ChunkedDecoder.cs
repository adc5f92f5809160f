namespace Millrace.Http;

/// <summary>
/// Decodes a chunked body (RFC 9112 section 7.1) from fragments of any size. Extensions are validated, limited and dropped; trailers are
/// validated, limited, and dropped unless the caller takes them. It is strict: only CRLF ends a line, and only valid extensions may follow
/// a size on its line.
/// </summary>
/// <remarks>Pass the remaining input again after <see cref="ChunkedStatus.Data"/>. A refusal and the end are final.</remarks>
internal struct ChunkedDecoder
{
    /// <summary>
    /// For the whole body, as RFC 9112 section 7.1.1 requires: otherwise a client could send unlimited bytes as extensions.
    /// </summary>
    public const int ExtensionBytesMax = 4 * 1024;

    /// <summary>For all trailer lines together: a quarter of a head suffices for digests and signatures.</summary>
    public const int TrailerBytesMax = 8 * 1024;

    /// <summary>The digits of the largest long. More are refused even if they are zeros: only an attacker sends them.</summary>
    private const int SizeDigitsMax = 16;

    private long _remaining;
    private int _extensionBytes;
    private int _trailerBytes;
    private byte _sizeDigits;
    private State _state;

    private enum State : byte
    {
        Size,
        Extension,
        ExtensionName,
        ExtensionNameMore,
        ExtensionNameEnd,
        ExtensionValue,
        ExtensionToken,
        ExtensionQuoted,
        ExtensionEscape,
        ExtensionEnd,
        SizeLf,
        Data,
        DataCr,
        DataLf,
        TrailerStart,
        TrailerName,
        TrailerValue,
        TrailerLf,
        LastLf,
        Done,
        Refused,
    }

    public ChunkedRefusal Refusal { get; private set; }

    /// <summary>Continues to decode the body. <paramref name="data"/> is the range of the input that belongs to the body.</summary>
    public ChunkedStatus Read(ReadOnlySpan<byte> input, out int consumed, out TextRange data) =>
        Read(input, out consumed, out data, out _);

    /// <summary>
    /// The same for callers that keep the trailers: <paramref name="trailers"/> is the range of the input that belongs to their lines. What
    /// all calls give is complete when the body is, and without the empty line after it.
    /// </summary>
    public ChunkedStatus Read(ReadOnlySpan<byte> input, out int consumed, out TextRange data, out TextRange trailers)
    {
        data = default;
        trailers = default;
        consumed = 0;
        while (_state < State.Done && consumed < input.Length)
        {
            if (_state == State.Data)
            {
                int bytes = (int)Math.Min(_remaining, input.Length - consumed);
                data = new TextRange(consumed, bytes);
                consumed += bytes;
                _remaining -= bytes;
                _state = _remaining == 0 ? State.DataCr : State.Data;
                return ChunkedStatus.Data;
            }

            int trailerBytes = _trailerBytes;
            Step(input[consumed]);
            if (_trailerBytes != trailerBytes && _state != State.Refused)
            {
                // They follow one another without a gap.
                trailers = trailers.IsEmpty ? new TextRange(consumed, 1) : trailers with { Length = trailers.Length + 1 };
            }

            consumed += _state == State.Refused ? 0 : 1;
        }

        return _state switch
        {
            State.Done => ChunkedStatus.Done,
            State.Refused => ChunkedStatus.Refused,
            _ => ChunkedStatus.NeedsMore,
        };
    }

    private void Step(byte value)
    {
        switch (_state)
        {
            case State.Size:
                StepSize(value);
                break;
            case < State.SizeLf:
                StepExtension(value);
                break;
            case State.SizeLf:
                Expect(value, '\n', _remaining == 0 ? State.TrailerStart : State.Data, ChunkedRefusal.BareCr);
                _sizeDigits = 0;
                break;
            case State.DataCr:
                Expect(value, '\r', State.DataLf, ChunkedRefusal.MissingChunkEnd);
                break;
            case State.DataLf:
                Expect(value, '\n', State.Size, ChunkedRefusal.MissingChunkEnd);
                break;
            case State.LastLf:
                Expect(value, '\n', State.Done, ChunkedRefusal.BareCr);
                break;
            default:
                StepTrailer(value);
                break;
        }
    }

    private void StepSize(byte value)
    {
        if (char.IsAsciiHexDigit((char)value))
        {
            int digit = char.IsAsciiDigit((char)value) ? value - '0' : (value | 0x20) - 'a' + 10;
            if (_sizeDigits == SizeDigitsMax || _remaining > long.MaxValue >> 4)
            {
                Refuse(ChunkedRefusal.SizeTooLarge);
                return;
            }

            _sizeDigits++;
            _remaining = (_remaining << 4) + digit;
        }
        else if (_sizeDigits == 0)
        {
            RefuseLine(value, ChunkedRefusal.BadSize);
        }
        else if (value == '\r')
        {
            _state = State.SizeLf;
        }
        else if (value is (byte)';' or (byte)' ' or (byte)'\t')
        {
            _state = State.Extension;
            StepExtension(value);
        }
        else
        {
            RefuseLine(value, ChunkedRefusal.BadSize);
        }
    }

    // chunk-ext = *( BWS ";" BWS chunk-ext-name [ BWS "=" BWS chunk-ext-val ] ), the value a token or a quoted string.
    private void StepExtension(byte value)
    {
        if (++_extensionBytes > ExtensionBytesMax)
        {
            Refuse(ChunkedRefusal.ExtensionsTooLong);
            return;
        }

        bool isSpace = value is (byte)' ' or (byte)'\t';
        bool isToken = ByteClasses.Token.Contains(value);
        State? next = _state switch
        {
            State.ExtensionQuoted when value == '"' => State.ExtensionEnd,
            State.ExtensionQuoted when value == '\\' => State.ExtensionEscape,
            State.ExtensionQuoted or State.ExtensionEscape => ByteClasses.FieldValue.Contains(value) ? State.ExtensionQuoted : null,
            State.ExtensionName or State.ExtensionNameMore when isToken => State.ExtensionNameMore,
            State.ExtensionNameMore when isSpace => State.ExtensionNameEnd,
            State.ExtensionNameMore or State.ExtensionNameEnd when value == '=' => State.ExtensionValue,
            State.ExtensionValue when value == '"' => State.ExtensionQuoted,
            State.ExtensionValue or State.ExtensionToken when isToken => State.ExtensionToken,
            State.ExtensionToken or State.ExtensionEnd when isSpace => State.Extension,
            State.Extension or State.ExtensionName or State.ExtensionNameEnd or State.ExtensionValue when isSpace => _state,
            State.ExtensionName or State.ExtensionValue => null,
            _ when value == ';' => State.ExtensionName,
            State.ExtensionNameMore or State.ExtensionToken or State.ExtensionEnd when value == '\r' => State.SizeLf,
            _ => null,
        };

        if (next is State known)
        {
            _state = known;
        }
        else
        {
            RefuseLine(value, ChunkedRefusal.BadExtension);
        }
    }

    private void StepTrailer(byte value)
    {
        if (_state == State.TrailerStart && value == '\r')
        {
            _state = State.LastLf;
            return;
        }

        if (++_trailerBytes > TrailerBytesMax)
        {
            Refuse(ChunkedRefusal.TrailersTooLong);
            return;
        }

        switch (_state)
        {
            case State.TrailerStart or State.TrailerName when ByteClasses.Token.Contains(value):
                _state = State.TrailerName;
                break;
            case State.TrailerName when value == ':':
                _state = State.TrailerValue;
                break;
            case State.TrailerValue when value == '\r':
                _state = State.TrailerLf;
                break;
            case State.TrailerValue when ByteClasses.FieldValue.Contains(value):
                break;
            case State.TrailerLf:
                Expect(value, '\n', State.TrailerStart, ChunkedRefusal.BareCr);
                break;
            default:
                RefuseLine(value, ChunkedRefusal.BadTrailer);
                break;
        }
    }

    private void Expect(byte value, char wanted, State next, ChunkedRefusal otherwise)
    {
        if (value == wanted)
        {
            _state = next;
        }
        else
        {
            Refuse(otherwise);
        }
    }

    private void RefuseLine(byte value, ChunkedRefusal refusal) => Refuse(value == '\n' ? ChunkedRefusal.BareLf : refusal);

    private void Refuse(ChunkedRefusal refusal)
    {
        Refusal = refusal;
        _state = State.Refused;
    }
}

/// <summary>Why a chunked body is refused.</summary>
internal enum ChunkedRefusal : byte
{
    None,
    BadSize,
    SizeTooLarge,
    BadExtension,
    ExtensionsTooLong,
    BareCr,
    BareLf,
    MissingChunkEnd,
    BadTrailer,
    TrailersTooLong,
}

/// <summary>The state of a <see cref="ChunkedDecoder"/> after its input.</summary>
internal enum ChunkedStatus : byte
{
    /// <summary>All input is consumed and the body continues.</summary>
    NeedsMore,

    /// <summary>A piece of the body was found; the remaining input may contain more.</summary>
    Data,

    /// <summary>The body has ended; the input that is not consumed is the next request.</summary>
    Done,

    /// <summary>The chunked coding is invalid: answer 400 if that is still possible, and close.</summary>
    Refused,
}
