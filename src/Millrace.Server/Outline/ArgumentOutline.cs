using System.CommandLine;
using Millrace.Server.Options;

namespace Millrace.Server.Outline;

/// <summary>What a command takes besides flags.</summary>
/// <param name="Name">As help has it: <c>ROOT</c>.</param>
/// <param name="Help">What it is, in a sentence.</param>
/// <param name="Default">What holds without it; empty for nothing.</param>
/// <param name="IsRequired">Whether the command needs it.</param>
/// <param name="Value">What it can be.</param>
internal sealed record ArgumentOutline(string Name, string Help, string Default, bool IsRequired, ValueOutline Value)
{
    public static ArgumentOutline Of(Argument argument)
    {
        ServerOption? row = OptionTable.All.FirstOrDefault(row => row.Argument == argument.Name);
        return new ArgumentOutline(
            argument.Name,
            argument.Description ?? "",
            argument.HasDefaultValue ? argument.GetDefaultValue() as string ?? "" : "",
            argument.Arity.MinimumNumberOfValues > 0 && !argument.HasDefaultValue,
            row is null ? ValueOutline.Of(argument.Name, argument) : ValueOutline.Of(row));
    }
}
