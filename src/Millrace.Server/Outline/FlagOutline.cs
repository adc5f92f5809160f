using System.CommandLine;
using Millrace.Server.Options;
using Millrace.StaticFiles.Options;

namespace Millrace.Server.Outline;

/// <summary>A flag of a command.</summary>
/// <param name="Name">With its dashes: <c>--listen</c>.</param>
/// <param name="ShortNames">Its short forms: <c>-l</c>.</param>
/// <param name="Help">What it does, in a sentence or two.</param>
/// <param name="IsRepeatable">Whether another one adds to it.</param>
/// <param name="Value">What it takes; null for nothing.</param>
/// <param name="Row">Its row in the table, if it has one.</param>
internal sealed record FlagOutline(
    string Name, IReadOnlyList<string> ShortNames, string Help, bool IsRepeatable, ValueOutline? Value, ServerOption? Row)
{
    public IEnumerable<string> Names => ShortNames.Append(Name);

    public static FlagOutline Of(Option option)
    {
        ServerOption? row = OptionTable.All.FirstOrDefault(row => row.Flag == option.Name);
        bool takesNothing = option.Arity.MaximumNumberOfValues == 0 || option.ValueType == typeof(bool);

        // The other short forms of help, /h and -?, are those of other systems, and a pattern to shells.
        return new FlagOutline(
            option.Name,
            [.. option.Aliases.Where(static alias => alias is ['-', >= 'a' and <= 'z'])],
            row?.Help ?? option.Description ?? "",
            row?.Occurrence == OptionOccurrence.Repeatable,
            row is not null ? ValueOutline.Of(row) : takesNothing ? null : ValueOutline.Of(option.HelpName ?? "", option),
            row);
    }
}
