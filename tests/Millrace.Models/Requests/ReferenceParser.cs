using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Text;
using System.Text.RegularExpressions;
using Millrace.Http;

namespace Millrace.Models;

/// <summary>
/// A slow parser of request heads, written from the RFCs one character at a time, with strings and regular expressions. It shares
/// nothing with the real one but the names of the results.
/// </summary>
internal sealed class ReferenceParser : ReferenceHead
{
    private static readonly Dictionary<string, FieldName> KnownNames = Enum.GetValues<FieldName>()
        .Where(name => name != FieldName.Unknown)
        .ToDictionary(SpellingOf, StringComparer.OrdinalIgnoreCase);

    private string _method = "";
    private string _target = "";
    private string _version = "";

    private ReferenceParser(string text, HeadLimits limits)
        : base(text, limits)
    {
    }

    protected override HeadRefusal OfLongLine(string line) =>
        line.Contains(' ') ? HeadRefusal.RequestLineTooLong : HeadRefusal.MethodTooLong;

    /// <summary>The result in the words of <see cref="HeadDescription"/>.</summary>
    public static string Describe(byte[] bytes, HeadLimits limits)
    {
        var parser = new ReferenceParser(Encoding.Latin1.GetString(bytes), limits);
        return Describe(parser.ReadHead, parser.DescribeComplete);
    }

    private void ReadHead()
    {
        int emptyLines = 0;
        while (Peek() is '\r' or '\n')
        {
            if (Peek() == '\r' && emptyLines == 4)
            {
                Refuse(HeadRefusal.TooManyEmptyLines);
            }

            RefuseIf(Next() == '\n', HeadRefusal.BareLf);
            RefuseIf(Next() != '\n', HeadRefusal.BareCr);
            emptyLines++;
        }

        BeginLine();
        ReadRequestLine();
        EndLine();
        ReadFields();
        CheckFields();
    }

    private void ReadRequestLine()
    {
        _method = ReadWhile(c => IsToken(c));
        char space = Next();
        RefuseIf(space == '\n', HeadRefusal.BareLf);
        RefuseIf(space != ' ' || _method == "", HeadRefusal.BadMethod);

        _target = ReadWhile(c => c > ' ' && c < '\x7F' && c != '#');
        space = Next();
        RefuseIf(space == '\n', HeadRefusal.BareLf);
        RefuseIf(space == '\r' && _target != "", HeadRefusal.MissingVersion);
        RefuseIf(space != ' ' || _target == "", HeadRefusal.BadTarget);

        foreach (char pattern in "HTTP/9.9")
        {
            char c = Next();
            RefuseIf(c == '\n', HeadRefusal.BareLf);
            RefuseIf(pattern == '9' ? c < '0' || c > '9' : c != pattern, HeadRefusal.BadVersion);
            _version += c;
        }

        RefuseIf(_version[5] != '1', HeadRefusal.VersionNotSupported);
        char cr = Next();
        RefuseIf(cr == '\n', HeadRefusal.BareLf);
        RefuseIf(cr != '\r', HeadRefusal.BadVersion);
        RefuseIf(Next() != '\n', HeadRefusal.BareCr);
        RefuseIf(TargetMatch() is null, HeadRefusal.BadTarget);
    }

    protected override void CheckField(string name, string value)
    {
        if (name == "host")
        {
            RefuseIf(ValuesOf("host").Count > 1, HeadRefusal.RepeatedHost);
            RefuseIf(!IsHost(value), HeadRefusal.BadHost);
        }

        base.CheckField(name, value);
    }

    private void CheckFields()
    {
        CheckCodings(_version);
        RefuseIf(_version != "HTTP/1.0" && ValuesOf("host").Count == 0, HeadRefusal.MissingHost);
    }

    private string DescribeComplete()
    {
        Match target = TargetMatch()!;
        string authority = target.Groups["authority"].Value;
        authority = authority != "" ? authority : ValuesOf("host").FirstOrDefault("");
        string version = _version == "HTTP/1.0" ? "Http10" : "Http11";
        string body = Codings.Count > 0 ? "Chunked" : ContentLength > 0 ? "Length" : "None";
        bool keepAlive = KeepsAlive(_version);
        bool expect = version == "Http11" && ListOf("expect").Contains("100-continue");

        var text = new StringBuilder();
        text.AppendLine($"complete {At} {MethodOf(_method)} {_method} {version}");
        text.AppendLine($"{FormOf(target)} {_target}");
        text.AppendLine($"path {target.Groups["path"].Value} query {target.Groups["query"].Value} authority {authority}");
        text.AppendLine($"{body} {ContentLength ?? 0} keep-alive {keepAlive} expect {expect}");
        foreach ((string name, string value) in Fields)
        {
            text.AppendLine($"{NameOf(name)}|{name}|{value}");
        }

        foreach (FieldName name in Enum.GetValues<FieldName>().Where(n => n != FieldName.Unknown))
        {
            string[] values = [.. Fields.Where(field => NameOf(field.Name) == name).Select(field => field.Value)];
            if (values.Length > 0)
            {
                text.AppendLine($"{name} first {values[0]} all {string.Join(' ', values.Select(value => $"<{value}>"))}");
            }
        }

        return text.ToString();
    }

    // "If-None-Match" is IfNoneMatch: the spelling without its dashes, which must stand between words.
    private static string SpellingOf(FieldName name)
        => string.Join('-', Regex.Matches(name.ToString(), "[A-Z][a-z]*").Select(word => word.Value));

    private static FieldName NameOf(string name) => KnownNames.GetValueOrDefault(name);

    private static Method MethodOf(string method)
        => method.All(char.IsAsciiLetterUpper) && Enum.TryParse(method, ignoreCase: true, out Method known) ? known : Method.Unknown;

    private Match? TargetMatch()
    {
        string pattern = _method == "CONNECT" ? "(?<authority>.+)"
            : _target == "*" && _method == "OPTIONS" ? @"\*"
            : _target[0] == '/' ? @"(?<path>[^?]*)(?<query>(\?.*)?)"
            : @"(?i:https?)://(?<authority>[^/?]+)(?<path>[^?]*)(?<query>(\?.*)?)";
        Match match = Regex.Match(_target, $@"\A{pattern}\z");
        string authority = match.Groups["authority"].Value;
        bool isValid = match.Success
            && (authority == "" || (IsHost(authority) && authority[0] != ':'))
            && (_method != "CONNECT" || Regex.IsMatch(authority, @":[0-9]+\z"));
        return isValid && !(_method == "CONNECT" && authority[0] == '[' && authority[^1] == ']') ? match : null;
    }

    private string FormOf(Match target) => _method == "CONNECT" ? "Authority"
        : _target == "*" ? "Asterisk"
        : target.Groups["authority"].Success ? "Absolute"
        : "Origin";

    private static bool IsHost(string text)
    {
        const string Name = @"(?<name>([A-Za-z0-9\-._~!$&'()*+,;=]|%[0-9A-Fa-f][0-9A-Fa-f])*)";
        const string Future = @"\[[vV][0-9A-Fa-f]+\.[A-Za-z0-9\-._~!$&'()*+,;=:]+\]";
        Match match = Regex.Match(text, $@"\A({Name}|{Future}|\[(?<six>[0-9A-Fa-f:.]+)\])(:0*(?<port>[0-9]*))?\z");
        string port = match.Groups["port"].Value;
        return match.Success
            && (!match.Groups["six"].Success || IsIpv6(match.Groups["six"].Value))
            && (port == "" || (port.Length < 6 && int.Parse(port, CultureInfo.InvariantCulture) < 65536))
            && IsName(match.Groups["name"].Value);
    }

    // What DNS can hold: labels of 1 to 63 in a name of 253, and perhaps a final dot.
    private static bool IsName(string text)
        => text == "" || Regex.IsMatch(text, @"\A(?=.{1,253}\.?\z)[^.]{1,63}(\.[^.]{1,63})*\.?\z", RegexOptions.Singleline);

    private static bool IsIpv6(string text)
        => text.Contains(':') && IPAddress.TryParse(text, out IPAddress? address) && address.AddressFamily == AddressFamily.InterNetworkV6;
}
