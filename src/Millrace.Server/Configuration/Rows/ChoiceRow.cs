using Millrace.StaticFiles;
using Millrace.StaticFiles.Options;

namespace Millrace.Server.Configuration.Rows;

/// <summary>Creates the row of a choice among words. The default comes from the options themselves.</summary>
internal static class ChoiceRow
{
    /// <summary>
    /// Words are shown in the given order. <paramref name="kind"/> names a choice with its article, for errors: <c>a colour</c>.
    /// </summary>
    public static ServerOption Of<T>(
        string key,
        string path,
        OptionChange change,
        string help,
        OrderedDictionary<string, T> words,
        string kind,
        Func<ServeOptions, T> read,
        Func<ServeOptions, T, ServeOptions> with) => new()
        {
            Key = key,
            Path = path,
            Change = change,
            Kind = OptionValueKind.Choice,
            ValueForm = string.Join('|', words.Keys),
            Choices = [.. words.Keys],
            Help = help,
            Default = words.First(word => Equals(word.Value, read(new ServeOptions()))).Key,
            Apply = (options, text) => words.TryGetValue(text, out T? choice)
                ? with(options, choice)
                : throw new SiteException($"'{text}' is not {kind}: use {string.Join(", ", words.Keys)}."),
        };
}
