using System.Collections;
using System.Globalization;
using System.Numerics;
using System.Reflection;
using System.Text;
using System.Text.RegularExpressions;
using Millrace.Fuzz.Tests.Kit;
using Millrace.Server.Configuration;
using Millrace.Server.Configuration.Rows;
using Millrace.StaticFiles;

namespace Millrace.Fuzz.Tests.Targets;

/// <summary>Values of the site's options, as <c>key value</c>: taken, or refused with cause and remedy; never anything else.</summary>
internal sealed partial class SiteOptionTarget : FuzzTarget
{
    private static readonly SiteOptions Blank = new() { Root = "/" };

    private static readonly ServerOption[] Rows = [.. SiteRows.All];

    private static readonly PropertyInfo[] Properties = typeof(SiteOptions).GetProperties(BindingFlags.Public | BindingFlags.Instance);

    public override string Name => "site-option";

    public override int InputBytesMax => 300;

    public override int OutcomesMin => 30;

    public override IReadOnlyList<string> Words =>
    [
        .. Rows.Select(option => $"{option.Key} "), "on", "off", "auto", "64k", "1G", "9t", "8388608t",
        "9223372036854775807", "-1", "1.5g", "404=/x", "500=", "*.js=", "/a /b 301", "/a/* /b/:splat", "X-A: b", "https://a.example",
        ",", "*", "=", ":", "/", "none", "text/html", ".wasm=", "\0", "\r\n", "é",
    ];

    public override byte[] Generate(Random random)
    {
        ServerOption option = Rows[random.Next(Rows.Length)];
        string value = option.Choices.Count > 0 && random.Next(3) != 0
            ? option.Choices[random.Next(option.Choices.Count)]
            : random.Pick("on", "64k", "12", "404=/a", "*.js=no-store", "/a /b", "X: y", "*", "/index.html", "utf-8", "a=b/c", option.Default);
        return Utf8($"{option.Key} {value}");
    }

    public override string Check(ReadOnlySpan<byte> input)
    {
        string[] words = Encoding.UTF8.GetString(input).Split(' ', 2);
        if (words.Length < 2 || Array.Find(Rows, row => row.Key == words[0]) is not ServerOption option)
        {
            return "no option";
        }

        SiteOptions? applied = null;
        SiteException? refusal = Refusal.Of(() => applied = option.Apply(new ServeOptions { Site = Blank }, words[1]).Site);
        bool isTaken = refusal is null;
        if (refusal is not null)
        {
            Require(!refusal.Message.Any(char.IsControl), "a refusal that disturbs a terminal");
        }
        else
        {
            CheckTaken(option, words[1], applied!);
        }

        CheckNumbers(option, words[1], isTaken ? applied : null);
        return $"{option.Key} {isTaken}";
    }

    private static void CheckTaken(ServerOption option, string text, SiteOptions applied)
    {
        Require(Blank.Root == applied.Root, "an option changes the root");
        Require(Properties.Count(property => Show(property, Blank) != Show(property, applied)) <= 1, "an option changes two properties");
        SiteOptions? twice = null;
        Require(Refusal.Of(() => twice = option.Apply(new ServeOptions { Site = applied }, text).Site) is null, "an option is taken once and not twice");
        bool isSame = option.Occurrence == OptionOccurrence.Repeatable
            || Properties.All(property => Show(property, applied) == Show(property, twice!));
        Require(isSame, "an option said twice says something else");
    }

    /// <summary>Sizes and counts by arithmetic without an end.</summary>
    private static void CheckNumbers(ServerOption option, string text, SiteOptions? applied)
    {
        if (option.Kind is not (OptionValueKind.Size or OptionValueKind.Count) || text == "auto")
        {
            return;
        }

        long most = option.Key switch
        {
            "dictionary-max-file" => 8 << 20,
            "cache-max-file" or "read-max" => int.MaxValue,
            _ => option.Kind == OptionValueKind.Count ? int.MaxValue : long.MaxValue,
        };
        Match match = option.Kind == OptionValueKind.Size ? Size().Match(text) : Count().Match(text);
        int power = 1 + "kmgt".IndexOf((match.Groups["unit"].Value + "-").ToLowerInvariant()[0]);
        BigInteger? value = match.Success ? BigInteger.Parse(match.Groups["digits"].Value, CultureInfo.InvariantCulture) << (10 * power) : null;
        value = value > most ? null : value;
        value = option.Range is { } range && (value < range.Least || value > range.Most) ? null : value;
        IEnumerable<PropertyInfo> changed = applied is null ? [] : Properties.Where(property => Show(property, applied) != Show(property, Blank));
        string read = string.Concat(changed.Select(property => Show(property, applied!)));

        // What is said may be what holds anyway.
        string expected = value is null ? "" : $"{value}";
        bool isDefault = applied is not null && read == "" && Properties.Any(property => Show(property, Blank) == expected);
        Require(read == expected || isDefault, $"{option.Key} {text} is {expected}, not {read}");
    }

    private static string Show(PropertyInfo property, SiteOptions options) => property.GetValue(options) switch
    {
        string text => text,
        IEnumerable items => string.Join('\n', items.Cast<object>()),
        CorsOptions cors => string.Join('\n', cors.Origins),
        object value => $"{value}",
        null => "",
    };

    [GeneratedRegex(@"\A(?<digits>[0-9]+)(?<unit>[kmgtKMGT]?)\z")]
    private static partial Regex Size();

    [GeneratedRegex(@"\A(?<digits>[0-9]+)\z")]
    private static partial Regex Count();
}
