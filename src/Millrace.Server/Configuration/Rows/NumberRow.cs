using System.Globalization;
using Millrace.StaticFiles;
using Millrace.StaticFiles.Options;

namespace Millrace.Server.Configuration.Rows;

/// <summary>Creates the row of a number. The default comes from the options themselves, which document its reason.</summary>
/// <param name="group">The option's group in the file.</param>
/// <param name="change">When a running server applies a new value.</param>
internal sealed class NumberRow(string group, OptionChange change)
{
    public ServerOption Count(
        string key, string help, long least, long most, Func<ServeOptions, long> read, Func<ServeOptions, long, ServeOptions> with) =>
        Of(OptionValueKind.Count, "N", key, help, least, most, read, with);

    public ServerOption Seconds(
        string key,
        string help,
        long least,
        long most,
        Func<ServeOptions, TimeSpan> read,
        Func<ServeOptions, TimeSpan, ServeOptions> with) =>
        Time(OptionValueKind.Seconds, "SECONDS", TimeSpan.FromSeconds(1), key, help, least, most, read, with);

    public ServerOption Milliseconds(
        string key,
        string help,
        long least,
        long most,
        Func<ServeOptions, TimeSpan> read,
        Func<ServeOptions, TimeSpan, ServeOptions> with) =>
        Time(OptionValueKind.Count, "MS", TimeSpan.FromMilliseconds(1), key, help, least, most, read, with);

    public ServerOption Bytes(
        string key, string help, long least, long most, Func<ServeOptions, long> read, Func<ServeOptions, long, ServeOptions> with) =>
        Of(OptionValueKind.Size, "BYTES", key, help, least, most, read, with);

    /// <summary>Parses a number. Throws <see cref="SiteException"/> if the text is not a number within the range.</summary>
    public static long Parse(OptionValueKind kind, string text, long least, long most)
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

        return number >= least && number <= most
            ? number
            : throw new SiteException(
                string.Create(CultureInfo.InvariantCulture, $"'{text}' is not valid: use a number from {least} to {most}."));
    }

    private ServerOption Of(
        OptionValueKind kind,
        string form,
        string key,
        string help,
        long least,
        long most,
        Func<ServeOptions, long> read,
        Func<ServeOptions, long, ServeOptions> with) => new()
        {
            Key = key,
            Path = $"{group}.{key}",
            Change = change,
            Kind = kind,
            ValueForm = form,
            Help = help,
            Default = Format(kind, read(new ServeOptions())),
            Range = (least, most),
            Apply = (options, text) => with(options, Parse(kind, text, least, most)),
        };

    private ServerOption Time(
        OptionValueKind kind,
        string form,
        TimeSpan unit,
        string key,
        string help,
        long least,
        long most,
        Func<ServeOptions, TimeSpan> read,
        Func<ServeOptions, TimeSpan, ServeOptions> with) =>
        Of(kind, form, key, help, least, most,
            options => read(options).Ticks / unit.Ticks,
            (options, number) => with(options, number * unit));

    /// <summary>The number as users write it.</summary>
    private static string Format(OptionValueKind kind, long number)
    {
        bool isRound = kind == OptionValueKind.Size && number > 0 && number % 1024 == 0;
        return (isRound ? number / 1024 : number).ToString(CultureInfo.InvariantCulture) + (isRound ? "k" : "");
    }
}
