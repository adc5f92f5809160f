using System.Buffers.Text;
using Millrace.Http;
using Millrace.HttpServer.Http1;

namespace Millrace.Arena;

/// <summary>The integers of a query: <c>?a=13&amp;b=42</c>.</summary>
internal static class QueryNumbers
{
    /// <summary>The value of a name, or the standard one if the query has none that is a number.</summary>
    /// <param name="query">The query, with its question mark.</param>
    /// <param name="name">The name with its equals sign.</param>
    /// <param name="standard">What to return otherwise.</param>
    public static int Find(ReadOnlySpan<byte> query, ReadOnlySpan<byte> name, int standard)
    {
        while (!query.IsEmpty)
        {
            query = query[1..];
            if (query.StartsWith(name) && Utf8Parser.TryParse(query[name.Length..], out int value, out _))
            {
                return value;
            }

            int next = query.IndexOf((byte)'&');
            query = next < 0 ? default : query[next..];
        }

        return standard;
    }
}

/// <summary>Reads a body that is one decimal integer, in pieces of any size.</summary>
internal struct BodyNumber
{
    /// <summary>More would not be a number of the board's.</summary>
    private const int BytesMax = 64;

    private RequestBody _state;
    private long _value;
    private int _bytes;
    private bool _isNegative;

    /// <summary>Starts to read the body that a head announced.</summary>
    public static BodyNumber Of(RequestHead head) => new() { _state = RequestBody.Of(head) };

    public readonly bool IsPending => _state.IsPending;

    public readonly long Value => _isNegative ? -_value : _value;

    /// <summary>Takes the bytes that belong to the body from the input. A refusal and the end are final.</summary>
    public ChunkedStatus Take(ReadOnlySpan<byte> input, out int consumed)
    {
        consumed = 0;
        while (true)
        {
            ChunkedStatus status = _state.Read(input[consumed..], out int read, out TextRange data);
            ReadOnlySpan<byte> digits = data.In(input[consumed..]);
            consumed += read;
            if (status != ChunkedStatus.Data)
            {
                return status;
            }

            if ((_bytes += digits.Length) > BytesMax)
            {
                return ChunkedStatus.Refused;
            }

            Add(digits);
        }
    }

    private void Add(ReadOnlySpan<byte> text)
    {
        foreach (byte character in text)
        {
            _isNegative |= character == (byte)'-';
            if (character is >= (byte)'0' and <= (byte)'9')
            {
                _value = (_value * 10) + (character - '0');
            }
        }
    }
}
