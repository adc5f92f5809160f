using Millrace.StaticFiles;
using Millrace.StaticFiles.Options;

namespace Millrace.Server.Options.Rows;

/// <summary>Makes the row of a choice among words. Its default is read off the options themselves.</summary>
internal static class ChoiceRow
{
    /// <summary>
    /// The words come in the order in which they are shown. <paramref name="stranger"/> is what another one is, as it ends a sentence:
    /// <c>no colour</c>.
    /// </summary>
    public static ServerOption Of<T>(
        string key,
        string path,
        OptionChange change,
        string help,
        OrderedDictionary<string, T> words,
        string stranger,
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
                : throw new SiteException($"'{text}' is {stranger}: write {string.Join(", ", words.Keys)}."),
        };
}
