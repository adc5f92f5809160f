using Millrace.Server.Configuration.Rows;
using Millrace.StaticFiles.Options;

namespace Millrace.Server.Configuration.Files;

/// <summary>Describes the JSON value of an option in words.</summary>
internal static class ValueDescriptions
{
    public static string Describe(ServerOption option)
    {
        if (option.Key == ListenRows.Host)
        {
            return "an object of folders, or of objects with a root";
        }

        string one = DescribeOne(option);
        string bare = option.BareValue is not null && option.Kind != OptionValueKind.Switch ? "true, or " : "";
        string many = option.Occurrence == OptionOccurrence.Repeatable ? ", or a list of these" : "";
        return $"{bare}{one}{many}";
    }

    private static string DescribeOne(ServerOption option) => option.Kind switch
    {
        OptionValueKind.Switch => "true or false",
        OptionValueKind.Choice => string.Join(", ", option.Choices.Select(static choice => $"\"{choice}\"")),
        OptionValueKind.Count when option.Choices.Count > 0 => $"a number or \"{string.Join("\", \"", option.Choices)}\"",
        OptionValueKind.Count => "a number",
        OptionValueKind.Seconds => "a number of seconds",
        OptionValueKind.Size => "a number of bytes, or a string such as \"64k\"",
        OptionValueKind.List => "a list of strings",
        OptionValueKind.Address => "a port, or an address as a string",
        OptionValueKind.Rule when option.Template is { } template && RuleTemplate.Parse(template).IsPair => "an object of strings",
        OptionValueKind.Rule => "a string or an object",
        _ => "a string",
    };
}
