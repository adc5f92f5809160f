using System.Text.Json.Nodes;
using Millrace.Server.Configuration;

namespace Millrace.Server.Tests.Configuration;

/// <summary>A configuration of options with good values, of which half have one place that is not.</summary>
/// <param name="Seed">It is the same for the same seed.</param>
/// <param name="Text">As JSON.</param>
/// <param name="Spoilt">What is wrong with it; null for nothing.</param>
internal sealed record RandomFile(int Seed, string Text, string? Spoilt)
{
    private const int OptionsMost = 6;

    private static readonly ServerOption[] Options = [.. OptionTable.All.Where(static option => option.Path != "hosts")];

    public static RandomFile Make(int seed)
    {
#pragma warning disable CA5394 // Not for secrets: a failure has to come again by its seed.
        var random = new Random(seed);
        var file = new JsonObject();
        var host = new JsonObject { ["root"] = "." };
        ServerOption[] chosen = random.GetItems(Options, random.Next(1, OptionsMost));
        foreach (ServerOption option in chosen)
        {
            SampleValues.Put(file, option, Good(option, random));
        }

        ServerOption[] ofHosts = [.. chosen.Where(static option => option.Scope == OptionScope.Site)];
        Array.ForEach(ofHosts, option => SampleValues.Put(host, option, Good(option, random)));
        if (random.Next(2) == 0)
        {
            file["hosts"] = new JsonObject { ["a.example"] = host, ["b.example"] = "./b" };
        }

        string? spoilt = random.Next(2) == 0 ? null : Spoil(file, chosen[0], random);
        return new RandomFile(seed, file.ToJsonString(), spoilt);
    }

    private static JsonNode Good(ServerOption option, Random random)
    {
        JsonNode one = SampleValues.Of(option);
        if (option.BareValue is not null && random.Next(4) == 0)
        {
            return random.Next(2) == 0;
        }

        // A list, of none, one or two.
        return option.Occurrence == OptionOccurrence.Repeatable && one.GetValueKind() != System.Text.Json.JsonValueKind.True
            && random.Next(2) == 0
            ? new JsonArray([.. Enumerable.Range(0, random.Next(3)).Select(_ => one.DeepClone())])
            : one;
    }

    private static string Spoil(JsonObject file, ServerOption option, Random random)
    {
        switch (random.Next(4))
        {
            case 0:
                file["no-such-option"] = true;
                return "an unknown option";
            case 1:
                SampleValues.Put(file, option, null);
                return $"{option.Path} is null";
            case 2 when option.Range is var (least, most):
                SampleValues.Put(file, option, random.Next(2) == 0 || most == long.MaxValue ? least - 1 : most + 1);
                return $"{option.Path} is out of its range";
            case 2 when option.Kind == OptionValueKind.Choice:
                SampleValues.Put(file, option, "no-such-choice");
                return $"{option.Path} is no choice";
            case 2 when option.Kind == OptionValueKind.Address:
                SampleValues.Put(file, option, ushort.MaxValue + random.Next(1, 1000));
                return $"{option.Path} is no port";
            case 2 when option.Parts.Count > 0:
                SampleValues.Put(file, option, new JsonObject { ["no-such-part"] = new JsonArray() });
                return $"{option.Path} has an unknown part";
            case 3 when option.Scope == OptionScope.Server && option.Key != "root":
                var host = new JsonObject { ["root"] = "." };
                SampleValues.Put(host, option, SampleValues.Of(option));
                file["hosts"] = new JsonObject { ["c.example"] = host };
                return $"{option.Path} is set for a host";
            default:
                JsonNode wrong = new JsonObject { ["a"] = new JsonObject() };
                SampleValues.Put(file, option, random.Next(2) == 0 ? wrong : new JsonArray(wrong));
                return $"{option.Path} is of a wrong type";
        }
#pragma warning restore CA5394
    }
}
