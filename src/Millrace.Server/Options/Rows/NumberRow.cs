using System.Globalization;
using Millrace.StaticFiles;
using Millrace.StaticFiles.Options;

namespace Millrace.Server.Options.Rows;

/// <summary>
/// Makes the row of a number. Its default is read off the options themselves, so that it stands in one place, with its reason.
/// </summary>
/// <param name="group">The group of its place in the file.</param>
/// <param name="change">When a running server takes another.</param>
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

    public ServerOption Microseconds(
        string key,
        string help,
        long least,
        long most,
        Func<ServeOptions, TimeSpan> read,
        Func<ServeOptions, TimeSpan, ServeOptions> with) =>
        Time(OptionValueKind.Count, "US", TimeSpan.FromMicroseconds(1), key, help, least, most, read, with);

    public ServerOption Bytes(
        string key, string help, long least, long most, Func<ServeOptions, long> read, Func<ServeOptions, long, ServeOptions> with) =>
        Of(OptionValueKind.Size, "BYTES", key, help, least, most, read, with);

    /// <summary>The number that a text is. Throws <see cref="SiteException"/> where it is none between these.</summary>
    public static long Parse(OptionValueKind kind, string text, long least, long most)
    {
        long number = -1;
        try
        {
            number = kind == OptionValueKind.Size ? OptionText.Size(text) : OptionText.Count(text);
        }
        catch (SiteException)
        {
            // The refusal below says what would do.
        }

        return number >= least && number <= most
            ? number
            : throw new SiteException(
                string.Create(CultureInfo.InvariantCulture, $"'{text}' is no number for it: write {least} to {most}."));
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
            Default = Shown(kind, read(new ServeOptions())),
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

    /// <summary>As people write it.</summary>
    private static string Shown(OptionValueKind kind, long number)
    {
        bool isRound = kind == OptionValueKind.Size && number > 0 && number % 1024 == 0;
        return (isRound ? number / 1024 : number).ToString(CultureInfo.InvariantCulture) + (isRound ? "k" : "");
    }
}
