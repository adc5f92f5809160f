using System.Globalization;
using Millrace.StaticFiles;

namespace Millrace.Server.Configuration.Rows;

/// <summary>
/// Creates the rows of a group. Defaults of numbers, switches and choices come from the options themselves, which document their reasons.
/// </summary>
/// <param name="name">The group in the file; empty for none.</param>
/// <param name="change">When a running server applies a new value.</param>
internal sealed class OptionGroup(string name, OptionChange change)
{
    private const string On = "on";
    private const string Off = "off";

    /// <summary>An option whose text the setter parses. <paramref name="path"/>: its name in the group, if not the key.</summary>
    public ServerOption Text(
        string key,
        OptionValueKind kind,
        string form,
        string help,
        Func<ServeOptions, string, ServeOptions> set,
        string? path = null) => new()
        {
            Key = key,
            Path = name.Length == 0 ? path ?? key : $"{name}.{path ?? key}",
            Change = change,
            Kind = kind,
            ValueForm = form,
            Help = help,
            Set = set,
        };

    /// <summary>The same, and repeatable.</summary>
    public ServerOption Texts(
        string key,
        OptionValueKind kind,
        string form,
        string help,
        Func<ServeOptions, string, ServeOptions> set,
        string? path = null) =>
        Text(key, kind, form, help, set, path) with { Occurrence = OptionOccurrence.Repeatable };

    public ServerOption Count(
        string key, string help, long least, long most, Func<ServeOptions, long?> read, Func<ServeOptions, long, ServeOptions> set) =>
        Number(OptionValueKind.Count, "N", key, help, least, most, read, set);

    public ServerOption Bytes(
        string key, string help, long least, long most, Func<ServeOptions, long?> read, Func<ServeOptions, long, ServeOptions> set) =>
        Number(OptionValueKind.Size, "BYTES", key, help, least, most, read, set);

    public ServerOption Seconds(
        string key,
        string help,
        long least,
        long most,
        Func<ServeOptions, TimeSpan> read,
        Func<ServeOptions, TimeSpan, ServeOptions> set) =>
        Number(OptionValueKind.Seconds, "SECONDS", key, help, least, most,
            options => read(options).Ticks / TimeSpan.TicksPerSecond,
            (options, number) => set(options, TimeSpan.FromSeconds(number)));

    public ServerOption Milliseconds(
        string key,
        string help,
        long least,
        long most,
        Func<ServeOptions, TimeSpan> read,
        Func<ServeOptions, TimeSpan, ServeOptions> set) =>
        Number(OptionValueKind.Count, "MS", key, help, least, most,
            options => read(options).Ticks / TimeSpan.TicksPerMillisecond,
            (options, number) => set(options, TimeSpan.FromMilliseconds(number)));

    /// <summary>A number within a range; null for no default.</summary>
    public ServerOption Number(
        OptionValueKind kind,
        string form,
        string key,
        string help,
        long least,
        long most,
        Func<ServeOptions, long?> read,
        Func<ServeOptions, long, ServeOptions> set) =>
        Text(key, kind, form, help, (options, text) => set(options, Parse(kind, text, least, most))) with
        {
            Default = Format(kind, read(new ServeOptions())),
            Range = (least, most),
        };

    public ServerOption Switch(
        string key, string help, Func<ServeOptions, bool> read, Func<ServeOptions, bool, ServeOptions> set, string? path = null) =>
        Text(key, OptionValueKind.Switch, $"{On}|{Off}", help, (options, text) => set(options, OptionText.Switch(text)), path) with
        {
            Choices = [On, Off],
            BareValue = On,
            Default = read(new ServeOptions()) ? On : Off,
        };

    /// <summary>
    /// A choice among words, shown in the given order. <paramref name="kind"/> names it with its article, for errors: <c>a colour</c>.
    /// </summary>
    public ServerOption Choice<T>(
        string key,
        string kind,
        string help,
        OrderedDictionary<string, T> words,
        Func<ServeOptions, T> read,
        Func<ServeOptions, T, ServeOptions> set,
        string? path = null) =>
        Text(key, OptionValueKind.Choice, string.Join('|', words.Keys), help, (options, text) => words.TryGetValue(text, out T? choice)
            ? set(options, choice)
            : throw OptionText.Refuse(text, $"not {kind}", $"Use {OptionText.AnyOf(words.Keys)}."), path) with
        {
            Choices = [.. words.Keys],
            Default = words.First(word => Equals(word.Value, read(new ServeOptions()))).Key,
        };

    private static long Parse(OptionValueKind kind, string text, long least, long most)
    {
        long number = -1;
        try
        {
            number = kind == OptionValueKind.Size ? OptionText.Size(text) : OptionText.Count(text);
        }
        catch (SiteException)
        {
            // The exception below states the valid range.
        }

        string unit = kind switch
        {
            OptionValueKind.Seconds => " of seconds",
            OptionValueKind.Size => " of bytes",
            _ => "",
        };
        return number >= least && number <= most
            ? number
            : throw new SiteException(
                string.Create(CultureInfo.InvariantCulture, $"'{text}' is not valid: use a number{unit} from {least} to {most}."));
    }

    /// <summary>The number as users write it.</summary>
    private static string Format(OptionValueKind kind, long? number)
    {
        bool isRound = kind == OptionValueKind.Size && number > 0 && number % 1024 == 0;
        return string.Create(CultureInfo.InvariantCulture, $"{(isRound ? number / 1024 : number)}{(isRound ? "k" : "")}");
    }
}
