using Millrace.Server.Options.Rows;
using Millrace.StaticFiles.Options;

namespace Millrace.Server.Options.Files;

/// <summary>What the value of an option looks like in a file, in words.</summary>
internal static class ValueShapes
{
    public static string Describe(ServerOption option)
    {
        if (option.Key == ListenRows.Host)
        {
            return "an object of folders, or of objects with a root";
        }

        string one = DescribeOne(option);
        string bare = option.BareValue is not null && option.Kind != OptionValueKind.Switch ? "true, or " : "";
        string many = option.Occurrence == OptionOccurrence.Repeatable ? ", or a list of such" : "";
        return $"{bare}{one}{many}";
    }

    /// <summary>The same, with the names of what an object has, in Markdown.</summary>
    public static string DescribeWithParts(ServerOption option) =>
        option.Template is { } template && RuleTemplate.Parse(template) is { IsPair: false } rule
            ? $"{Describe(option)} with {string.Join(", ", rule.Parts.Select(static part => $"`{part.Name}`"))}"
            : Describe(option);

    private static string DescribeOne(ServerOption option) => option.Kind switch
    {
        OptionValueKind.Switch => "true or false",
        OptionValueKind.Choice => string.Join(", ", option.Choices.Select(static choice => $"\"{choice}\"")),
        OptionValueKind.Count when option.Choices.Count > 0 => $"a number or \"{string.Join("\", \"", option.Choices)}\"",
        OptionValueKind.Count => "a number",
        OptionValueKind.Seconds => "a number of seconds",
        OptionValueKind.Size => "a number of bytes, or a text as \"64k\"",
        OptionValueKind.List => "a list of texts",
        OptionValueKind.Address => "a port, or an address as a text",
        OptionValueKind.Rule when option.Template is { } template && RuleTemplate.Parse(template).IsPair => "an object of texts",
        OptionValueKind.Rule => "a text or an object",
        _ => "a text",
    };
}
