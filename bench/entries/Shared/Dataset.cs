using System.Text.Json;
using System.Text.Json.Serialization;

namespace Millrace.Arena;

/// <summary>An item of the board's dataset.</summary>
internal sealed record Item(
    int Id, string Name, string Category, int Price, int Quantity, bool Active, string[] Tags, Rating Rating);

/// <summary>What buyers thought of an item.</summary>
internal sealed record Rating(int Score, int Count);

/// <summary>The items, read once at the start. A file that is missing or malformed throws.</summary>
internal static class Dataset
{
    public static Item[] Load(string folder)
    {
        using FileStream file = File.OpenRead(Path.Combine(folder, "dataset.json"));
        return JsonSerializer.Deserialize(file, DatasetJson.Default.ItemArray)
            ?? throw new InvalidDataException("dataset.json has no items");
    }
}

/// <summary>Serializers that are made when the program is built.</summary>
[JsonSourceGenerationOptions(PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase)]
[JsonSerializable(typeof(Item[]))]
internal sealed partial class DatasetJson : JsonSerializerContext;
