using System.Diagnostics;
using System.Globalization;
using System.Text;
using System.Text.RegularExpressions;

namespace Millrace.Cost.Tests.Kit;

/// <summary>The same request again and again over HTTP/1.1. All answers to it are as long as the first: only their dates differ.</summary>
internal sealed partial class Http1Connection : KeptConnection
{
    private static readonly TimeSpan StrongWithin = TimeSpan.FromSeconds(10);

    private readonly byte[] _request;
    private readonly byte[] _room = new byte[1 << 20];
    private readonly int _responseBytes;

    /// <param name="server">Whom to ask.</param>
    /// <param name="target">For what.</param>
    /// <param name="field">A field line of the request's; may be empty.</param>
    /// <param name="status">What the answer has to be.</param>
    public Http1Connection(Uri server, string target, string field, int status)
        : base(server)
    {
        _request = Encoding.ASCII.GetBytes($"GET {target} HTTP/1.1\r\nHost: a\r\n{(field.Length > 0 ? field + "\r\n" : "")}\r\n");
        long began = Stopwatch.GetTimestamp();
        bool isWeak;
        do
        {
            Send(_request);
            _responseBytes = TakeFirstResponse(status, out isWeak);
        }
        while (isWeak && Stopwatch.GetElapsedTime(began) < StrongWithin);
        Assert.False(isWeak, "The entity tag of a file that was just written becomes a strong one after a tenth of a second.");
    }

    public override void Ask(int requests = 1)
    {
        Send(requests == 1 ? _request : [.. Enumerable.Repeat(_request, requests).SelectMany(static bytes => bytes)]);
        for (int left = requests * _responseBytes; left > 0;)
        {
            left -= Receive(_room.AsSpan(0, Math.Min(left, _room.Length)));
        }
    }

    private int TakeFirstResponse(int status, out bool isWeak)
    {
        int count = 0, end;
        while ((end = _room.AsSpan(0, count).IndexOf("\r\n\r\n"u8)) < 0)
        {
            count += Receive(_room.AsSpan(count));
        }

        string head = Encoding.ASCII.GetString(_room, 0, end);
        Assert.StartsWith($"HTTP/1.1 {status} ", head, StringComparison.Ordinal);
        isWeak = head.Contains("\r\nETag: W/", StringComparison.Ordinal);
        Match length = ContentLength().Match(head);
        int bytes = end + 4 + (length.Success ? int.Parse(length.Groups["bytes"].Value, CultureInfo.InvariantCulture) : 0);
        Fill(_room.AsSpan(count, bytes - count));
        return bytes;
    }

    [GeneratedRegex(@"^Content-Length: (?<bytes>\d+)", RegexOptions.IgnoreCase | RegexOptions.Multiline)]
    private static partial Regex ContentLength();
}
