using System.Globalization;
using System.Text;
using Millrace.Http;

namespace Millrace.Models;

/// <summary>
/// A slow parser of response heads, written from the RFCs one character at a time. It shares nothing with the real one but the names of the
/// results.
/// </summary>
internal sealed class ReferenceResponse : ReferenceHead
{
    private readonly bool _isForHead;
    private string _line = "";
    private string _reason = "";

    private ReferenceResponse(string text, bool isForHead, HeadLimits limits)
        : base(text, limits) => _isForHead = isForHead;

    private string Version => _line[..8];

    private int Status => int.Parse(_line[9..], CultureInfo.InvariantCulture);

    private bool HasNoBody => _isForHead || Status is < 200 or 204 or 304;

    protected override HeadRefusal OfLongLine(string line) => HeadRefusal.HeadTooLarge;

    /// <summary>The result in the words of <see cref="ResponseDescription"/>.</summary>
    public static string Describe(byte[] bytes, bool isForHead, HeadLimits limits)
    {
        var parser = new ReferenceResponse(Encoding.Latin1.GetString(bytes), isForHead, limits);
        return Describe(parser.ReadHead, parser.DescribeComplete);
    }

    private void ReadHead()
    {
        BeginLine();
        ReadStatusLine();
        EndLine();
        ReadFields();
        CheckCodings(Version);
        RefuseIf((Status < 200 || Status == 204) && (Codings.Count > 0 || ContentLength > 0), HeadRefusal.BodyNotAllowed);
    }

    private void ReadStatusLine()
    {
        foreach (char pattern in "HTTP/9.9 999")
        {
            char c = Next();
            RefuseIf(c == '\n', HeadRefusal.BareLf);
            RefuseIf(pattern == '9' ? c < '0' || c > '9' : c != pattern, HeadRefusal.BadStatusLine);
            _line += c;
            RefuseIf(_line.Length == 6 && c != '1', HeadRefusal.VersionNotSupported);
        }

        RefuseIf(_line[9] == '0', HeadRefusal.BadStatusLine);
        if (Peek() == ' ')
        {
            Next();
            _reason = ReadWhile(c => c == '\t' || (c >= ' ' && c != '\x7F'));
        }

        char cr = Next();
        RefuseIf(cr == '\n', HeadRefusal.BareLf);
        RefuseIf(cr != '\r', HeadRefusal.BadStatusLine);
        RefuseIf(Next() != '\n', HeadRefusal.BareCr);
    }

    private string DescribeComplete()
    {
        string body = HasNoBody ? "None"
            : Codings.Count > 0 ? "Chunked"
            : ContentLength is null ? "UntilClose"
            : ContentLength > 0 ? "Length"
            : "None";
        bool keepAlive = body != "UntilClose" && KeepsAlive(Version);
        var text = new StringBuilder();
        text.AppendLine($"complete {At} {(Version == "HTTP/1.0" ? "Http10" : "Http11")} {Status} {_reason}");
        text.AppendLine($"{body} {ContentLength ?? -1} keep-alive {keepAlive}");
        foreach ((string name, string value) in Fields)
        {
            text.AppendLine($"{name}|{value}");
        }

        return text.ToString();
    }
}
