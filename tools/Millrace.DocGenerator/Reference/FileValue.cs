using Millrace.Server.Configuration;
using Millrace.Server.Configuration.Files;

namespace Millrace.DocGenerator.Reference;

/// <summary>What the value of an option looks like in the configuration file, with the names of an object's members, in Markdown.</summary>
internal static class FileValue
{
    public static string Describe(ServerOption option)
    {
        string value = ValueDescriptions.Describe(option);
        return option.Template is { } template && RuleTemplate.Parse(template) is { IsPair: false } rule
            ? $"{value} with {string.Join(", ", rule.Parts.Select(static part => $"`{part.Name}`"))}"
            : value;
    }
}
