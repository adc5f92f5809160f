using System.Text;

namespace Millrace.Conformance.Tests.Kit;

/// <summary>What answers one request of HTTP/2 or HTTP/3, to be read as HTTP/1.1: a body without a length comes in chunks.</summary>
internal sealed class StreamResponse(long streamId, string method, bool isLast)
{
    private readonly Queue<(byte[] Bytes, bool IsData)> _pieces = new();
    private int _taken;
    private bool _isChunked;
    private bool _isWhole;

    public long StreamId => streamId;

    /// <summary>Whether nothing is to be read after it.</summary>
    public bool IsLast => isLast;

    /// <summary>Whether the server ended it before its end.</summary>
    public bool IsBroken
    {
        get => field && _pieces.Count == 0;
        set => field = value && !_isWhole;
    }

    public bool HasHead { get; private set; }

    public bool IsTaken => _isWhole && _pieces.Count == 0;

    /// <summary>Whether content may follow the head.</summary>
    public bool TakesContent(string status) => method != "HEAD" && status is not ("204" or "304");

    /// <param name="fields">As "name: value", the status first.</param>
    /// <param name="isEnd">Whether there is no body.</param>
    public void AddHead(string[] fields, bool isEnd)
    {
        Expect.That(fields[0].StartsWith(":status: ", StringComparison.Ordinal), $"'{fields[0]}' where the status should be");
        bool isLower = fields.All(static field => !field.Split(':')[0].Any(char.IsAsciiLetterUpper));
        Expect.That(isLower, "a name of a field that is not in lower case");
        string status = fields[0][":status: ".Length..];
        bool hasBody = TakesContent(status);
        bool hasLength = fields.Any(static field => field.StartsWith("content-length: ", StringComparison.Ordinal));
        Expect.That(hasBody || isEnd, $"{status} to {method} with a body");
        _isChunked = hasBody && !hasLength;
        HasHead = true;
        string[] lines = [$"HTTP/1.1 {status} ", .. fields[1..], .. (_isChunked ? ["transfer-encoding: chunked"] : Array.Empty<string>())];
        Add(string.Join("\r\n", lines) + "\r\n\r\n");
        End(isEnd);
    }

    public void AddData(byte[] data, bool isEnd)
    {
        if (data.Length > 0)
        {
            if (_isChunked)
            {
                Add($"{data.Length:x}\r\n");
            }

            _pieces.Enqueue((data, true));
            if (_isChunked)
            {
                Add("\r\n");
            }
        }

        End(isEnd);
    }

    /// <summary>Takes what there is; so many of the bytes were data.</summary>
    public int Take(Span<byte> destination, out int dataBytes)
    {
        int count = 0;
        dataBytes = 0;
        while (count < destination.Length && _pieces.TryPeek(out (byte[] Bytes, bool IsData) piece))
        {
            int taken = Math.Min(destination.Length - count, piece.Bytes.Length - _taken);
            piece.Bytes.AsSpan(_taken, taken).CopyTo(destination[count..]);
            count += taken;
            dataBytes += piece.IsData ? taken : 0;
            _taken += taken;
            if (_taken == piece.Bytes.Length)
            {
                _pieces.Dequeue();
                _taken = 0;
            }
        }

        return count;
    }

    private void Add(string text) => _pieces.Enqueue((Encoding.Latin1.GetBytes(text), false));

    private void End(bool isEnd)
    {
        _isWhole |= isEnd;
        if (isEnd && _isChunked)
        {
            Add("0\r\n\r\n");
        }
    }
}
