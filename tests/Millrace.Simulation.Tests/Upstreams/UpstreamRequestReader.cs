using System.Globalization;
using System.Text;

namespace Millrace.Simulation.Tests.Upstreams;

/// <summary>Reads one request as an upstream gets it. It has to be one that a client meant: head, framing, and every byte of its body.</summary>
internal sealed class UpstreamRequestReader(SimulatedUpstreams upstreams)
{
    private readonly ChunkReader _chunks = new();
    private bool _isChunked;
    private int _bodyBytes;

    /// <summary>The exchange that its head names; null before the head is there.</summary>
    public ProxiedExchange? Exchange { get; private set; }

    public bool IsComplete { get; private set; }

    /// <summary>Of a request for a WebSocket.</summary>
    public string Key { get; private set; } = "";

    /// <summary>What is wrong; null for nothing.</summary>
    public string? Wrong { get; private set; }

    /// <summary>Takes what it can from the front of what came.</summary>
    public int Read(ReadOnlySpan<byte> bytes)
    {
        int at = 0;
        if (Exchange is null)
        {
            int end = bytes.IndexOf("\r\n\r\n"u8);
            if (end < 0)
            {
                Wrong = bytes.Length > 8_000 ? "A request's head never ends." : null;
                return 0;
            }

            at = end + 4;
            TakeHead(Encoding.Latin1.GetString(bytes[..end]).Split("\r\n"));
        }

        while (at < bytes.Length && !IsComplete && Wrong is null)
        {
            at += ReadBody(bytes[at..]);
        }

        return at;
    }

    private int ReadBody(ReadOnlySpan<byte> bytes)
    {
        ReadOnlySpan<byte> content;
        int taken;
        if (_isChunked)
        {
            taken = _chunks.Read(bytes, out content);
            Wrong = _chunks.Wrong is { } wrong ? $"A request {wrong}." : null;
            IsComplete = _chunks.IsComplete;
        }
        else
        {
            taken = Math.Min(bytes.Length, Exchange!.RequestBody.Length - _bodyBytes);
            content = bytes[..taken];
        }

        ReadOnlySpan<byte> expected = Exchange!.RequestBody.Span[_bodyBytes..];
        if (!expected.StartsWith(content))
        {
            Wrong = $"The body of request {Exchange.Id} has a foreign byte after {_bodyBytes}.";
        }

        _bodyBytes += content.Length;
        if (!_isChunked)
        {
            IsComplete = _bodyBytes == Exchange.RequestBody.Length;
        }
        else if (IsComplete && _bodyBytes < Exchange.RequestBody.Length)
        {
            Wrong = $"The body of request {Exchange.Id} is said to be whole after {_bodyBytes} of {Exchange.RequestBody.Length} bytes.";
        }

        return taken;
    }

    private void TakeHead(string[] lines)
    {
        string[] words = lines[0].Split(' ');
        string[] owners = Values(lines, "X-Owner");
        bool isKnown = words.Length == 3 && words[2] == "HTTP/1.1" && owners.Length == 1
            && int.TryParse(owners[0], NumberStyles.None, CultureInfo.InvariantCulture, out int id)
            && (Exchange = upstreams.Find(id)) is not null;
        if (!isKnown || words[0] != Exchange!.Method || words[1] != Exchange.Target)
        {
            Wrong = $"No client has sent this request: {string.Join('|', lines)}";
            return;
        }

        if (Values(lines, "Host").Length != 1)
        {
            Wrong = $"A request has not one host: {string.Join('|', lines)}";
            return;
        }

        if (Exchange.IsUpgrade)
        {
            string[] keys = Values(lines, "Sec-WebSocket-Key");
            if (keys.Length != 1 || Values(lines, "Upgrade") is not ["websocket"] || Values(lines, "Connection") is not ["Upgrade"])
            {
                Wrong = $"A request does not ask for the WebSocket that it is for: {string.Join('|', lines)}";
                return;
            }

            Key = keys[0];
        }

        string[] lengths = Values(lines, "Content-Length");
        string[] codings = Values(lines, "Transfer-Encoding");
        _isChunked = codings is ["chunked"] && lengths.Length == 0;
        bool hasLength = codings.Length == 0
            && (lengths is [var length] ? length == Exchange.RequestBody.Length.ToString(CultureInfo.InvariantCulture) : lengths.Length == 0 && Exchange.RequestBody.IsEmpty);
        if (!_isChunked && !hasLength)
        {
            Wrong = $"A request is not framed as it was: {string.Join('|', lines)}";
            return;
        }

        IsComplete = !_isChunked && Exchange.RequestBody.IsEmpty;
    }

    private static string[] Values(string[] lines, string name) =>
    [
        .. lines.Skip(1)
            .Where(line => line.StartsWith(name + ":", StringComparison.OrdinalIgnoreCase))
            .Select(line => line[(name.Length + 1)..].Trim(' ')),
    ];
}
