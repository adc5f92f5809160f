using System.Globalization;
using System.Text;

namespace Millrace.Simulation.Tests.Upstreams;

/// <summary>Reads the chunked coding bit by bit, and strictly: the other side is a server that has to write it right.</summary>
internal sealed class ChunkReader
{
    private readonly StringBuilder _line = new();
    private int _left;
    private bool _isAfterChunk;
    private bool _isInTrailers;

    /// <summary>The last chunk and the trailers were read.</summary>
    public bool IsComplete { get; private set; }

    /// <summary>What is wrong; null for nothing.</summary>
    public string? Wrong { get; private set; }

    /// <summary>Takes some bytes from the front of what came: how many, and which of them are content.</summary>
    public int Read(ReadOnlySpan<byte> bytes, out ReadOnlySpan<byte> content)
    {
        content = default;
        if (_left > 0)
        {
            content = bytes[..Math.Min(_left, bytes.Length)];
            _left -= content.Length;
            _isAfterChunk = _left == 0;
            return content.Length;
        }

        for (int at = 0; at < bytes.Length; at++)
        {
            _line.Append((char)bytes[at]);
            if (bytes[at] == '\n')
            {
                TakeLine(_line.ToString());
                _line.Clear();
                return at + 1;
            }
        }

        return bytes.Length;
    }

    private void TakeLine(string line)
    {
        if (!line.EndsWith("\r\n", StringComparison.Ordinal))
        {
            Wrong = "ends a line of its chunks with a bare LF";
        }
        else if (_isInTrailers)
        {
            IsComplete = line.Length == 2;
        }
        else if (_isAfterChunk)
        {
            _isAfterChunk = false;
            Wrong = line.Length == 2 ? null : "has a chunk longer than its size";
        }
        else if (int.TryParse(line[..^2], NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture, out _left))
        {
            _isInTrailers = _left == 0;
        }
        else
        {
            Wrong = $"has the chunk size '{line[..^2]}'";
        }
    }
}
