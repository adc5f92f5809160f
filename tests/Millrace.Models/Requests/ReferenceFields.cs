using System.Globalization;
using System.Text;
using System.Text.RegularExpressions;
using Millrace.Http;

namespace Millrace.Models;

/// <summary>
/// What RFC 9113 section 8 or RFC 9114 section 4.3.1 makes of the fields of a request, by strings and regular expressions: the text of the
/// HTTP/1.1 request that means the same, or the name of the refusal. What is a host, <see cref="ReferenceParser"/> says.
/// </summary>
internal sealed class ReferenceFields
{
    private const string Token = "[!#$%&'*+\\-.^_`|~0-9a-z]+";
    private static readonly Regex Name = new($"\\A{Token}\\z");
    private static readonly Regex Method = new($"\\A{Token}\\z", RegexOptions.IgnoreCase);
    private static readonly Regex Value = new(@"\A([\x21-\x7E\x80-\xFF]([\t\x20-\x7E\x80-\xFF]*[\x21-\x7E\x80-\xFF])?)?\z");
    private static readonly Regex Path = new(@"\A(/[\x21\x22\x24-\x7E]*|\*[\x21\x22\x24-\x7E]*)\z");
    private static readonly Regex Scheme = new(@"\A[A-Za-z][A-Za-z0-9+\-.]*\z");

    private readonly HeadLimits _limits;
    private readonly bool _isHttp3;
    private readonly Dictionary<string, string> _pseudo = [];
    private readonly List<(string Name, string Value)> _written = [];
    private readonly List<string> _crumbs = [];
    private string _text = "";
    private bool _hasOtherHost;

    private ReferenceFields(HeadLimits limits, bool isHttp3) => (_limits, _isHttp3) = (limits, isHttp3);

    private string Cookie => string.Join("; ", _crumbs.Where(crumb => crumb.Length > 0));

    public static string Describe(IEnumerable<(string Name, string Value)> fields, HeadLimits limits, bool isHttp3 = false)
    {
        var reference = new ReferenceFields(limits, isHttp3);
        try
        {
            foreach ((string name, string value) in fields)
            {
                reference.Take(name, value);
            }

            reference.End();
            return reference._text;
        }
        catch (RefusedException refused)
        {
            return $"refused {refused.Refusal}";
        }
    }

    private void Take(string name, string value)
    {
        if (name.StartsWith(':'))
        {
            RefuseIf(_text.Length > 0, HeadRefusal.MisplacedPseudoField);
            RefuseIf(name is not (":method" or ":scheme" or ":authority" or ":path"), HeadRefusal.UnknownPseudoField);
            RefuseIf(_pseudo.ContainsKey(name), HeadRefusal.RepeatedPseudoField);
            bool isTooLarge = _pseudo.Values.Sum(text => text.Length) + value.Length > _limits.HeadBytesMax;
            bool isLargeMethod = isTooLarge && name == ":method" && value.Length >= _limits.RequestLineBytesMax;
            RefuseIf(isLargeMethod, FillsLine(value) ? HeadRefusal.MethodTooLong : HeadRefusal.BadMethod);
            RefuseIf(isTooLarge, name == ":path" ? HeadRefusal.RequestLineTooLong : HeadRefusal.HeadTooLarge);
            _pseudo[name] = value;
            return;
        }

        RefuseIf(!Name.IsMatch(name), name.Any(char.IsAsciiLetterUpper) ? HeadRefusal.UpperCaseName : HeadRefusal.BadFieldName);
        RefuseIf(!Value.IsMatch(value), HeadRefusal.BadFieldValue);
        bool isOfConnection = name is "connection" or "proxy-connection" or "keep-alive" or "transfer-encoding" or "upgrade";
        bool isOtherTe = name == "te" && !value.Equals("trailers", StringComparison.OrdinalIgnoreCase);
        RefuseIf(isOfConnection || isOtherTe, HeadRefusal.ConnectionField);
        EndPseudo();
        if (name == "cookie")
        {
            _crumbs.Add(value);
            RefuseIf(Cookie.Length > _limits.HeadBytesMax, HeadRefusal.HeadTooLarge);
        }
        else if (name == "host" && _pseudo.TryGetValue(":authority", out string? authority))
        {
            RefuseIf(_hasOtherHost, HeadRefusal.BadHost);
            RefuseIf(Bare(value) != Bare(authority), HeadRefusal.OtherHost);
            _hasOtherHost = true;
        }
        else
        {
            RefuseIf(_isHttp3 && name == "host" && value.Length == 0, HeadRefusal.BadHost);
            Write(name, value);
        }
    }

    private void End()
    {
        EndPseudo();
        if (_crumbs.Count > 0)
        {
            Write("cookie", Cookie);
        }

        RefuseIf(_text.Length + 2 > _limits.HeadBytesMax, HeadRefusal.HeadTooLarge);
        _text += "\r\n";
        RefuseIf(_written.All(field => field.Name != "host"), HeadRefusal.MissingHost);
    }

    private void EndPseudo()
    {
        if (_text.Length > 0)
        {
            return;
        }

        string? method = _pseudo.GetValueOrDefault(":method");
        string? scheme = _pseudo.GetValueOrDefault(":scheme");
        string? path = _pseudo.GetValueOrDefault(":path");
        string? authority = _pseudo.GetValueOrDefault(":authority");
        bool isConnect = method == "CONNECT";
        RefuseIf(method is null, HeadRefusal.MissingPseudoField);
        RefuseIf(isConnect && (scheme is not null || path is not null), HeadRefusal.ForbiddenPseudoField);
        RefuseIf(isConnect ? authority is null : scheme is null || path is null, HeadRefusal.MissingPseudoField);
        RefuseIf(!string.IsNullOrEmpty(authority) && !IsHost(authority), HeadRefusal.BadAuthority);
        RefuseIf(_isHttp3 && authority?.Length == 0, HeadRefusal.BadAuthority);
        RefuseIf(!isConnect && !Scheme.IsMatch(scheme!), HeadRefusal.BadScheme);
        RefuseIf(!isConnect && scheme!.ToLowerInvariant() is not ("http" or "https"), HeadRefusal.UnknownScheme);
        RefuseIf(FillsLine(method!), HeadRefusal.MethodTooLong);
        RefuseIf(!Method.IsMatch(method!), HeadRefusal.BadMethod);
        RefuseIf(!isConnect && !Path.IsMatch(path!), HeadRefusal.BadPath);

        string line = $"{method} {(isConnect ? authority : path)} HTTP/1.1\r\n";
        RefuseIf(line.Length > _limits.RequestLineBytesMax, HeadRefusal.RequestLineTooLong);
        RefuseIf(!isConnect && path![0] == '*' && (path.Length > 1 || method != "OPTIONS"), HeadRefusal.BadPath);
        bool hasPort = authority is not null && Regex.IsMatch(authority, @"\A[^:].*:[0-9]+\z");
        RefuseIf(isConnect && !hasPort, HeadRefusal.BadAuthority);
        _text = line;
        if (authority is not null)
        {
            Write("host", authority);
        }
    }

    private void Write(string name, string value)
    {
        RefuseIf(_written.Count == _limits.FieldsMax, HeadRefusal.TooManyFields);
        string line = $"{name}: {value}\r\n";
        RefuseIf(_text.Length + line.Length > _limits.HeadBytesMax, HeadRefusal.HeadTooLarge);
        bool isRepeated = _written.Any(field => field.Name == name);
        if (name == "host")
        {
            RefuseIf(isRepeated, HeadRefusal.RepeatedHost);
            RefuseIf(value.Length > 0 && !IsHost(value), HeadRefusal.BadHost);
        }
        else if (name == "content-length")
        {
            RefuseIf(isRepeated, HeadRefusal.RepeatedContentLength);
            bool isNumber = value.All(char.IsAsciiDigit) && decimal.TryParse(value.TrimStart('0').PadLeft(1, '0'), NumberStyles.None,
                CultureInfo.InvariantCulture, out decimal length) && length <= long.MaxValue;
            RefuseIf(!isNumber || value.Length == 0, HeadRefusal.BadContentLength);
        }

        _written.Add((name, value));
        _text += line;
    }

    /// <summary>A host without the port that its scheme implies.</summary>
    private string Bare(string host)
    {
        string port = _pseudo.GetValueOrDefault(":scheme")?.ToLowerInvariant() switch { "http" => ":80", "https" => ":443", _ => "" };
        return (host.EndsWith(port, StringComparison.Ordinal) ? host[..^port.Length] : host).ToLowerInvariant();
    }

    private bool FillsLine(string method)
        => method.Length >= _limits.RequestLineBytesMax && Method.IsMatch(method[.._limits.RequestLineBytesMax]);

    private static bool IsHost(string text)
        => text.All(letter => letter is > ' ' and < '\x7F') && IsComplete($"GET / HTTP/1.1\r\nHost: {text}");

    private static bool IsComplete(string lines) => ReferenceParser
        .Describe(Encoding.Latin1.GetBytes(lines + "\r\n\r\n"), HeadLimits.Default)
        .StartsWith("complete", StringComparison.Ordinal);

    private static void RefuseIf(bool condition, HeadRefusal refusal)
    {
        if (condition)
        {
            throw new RefusedException(refusal);
        }
    }

    private sealed class RefusedException(HeadRefusal refusal) : Exception
    {
        public HeadRefusal Refusal => refusal;
    }
}
