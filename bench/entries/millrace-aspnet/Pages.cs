using System.Globalization;
using System.Text.Json.Serialization;
using Microsoft.AspNetCore.Http.HttpResults;

namespace Millrace.Arena;

/// <summary>An item with what it costs in all.</summary>
internal sealed record PricedItem(
    int Id, string Name, string Category, int Price, int Quantity, bool Active, string[] Tags, Rating Rating, long Total);

/// <summary>The first items of the dataset.</summary>
internal sealed record ItemPage(PricedItem[] Items, int Count);

/// <summary>The board's paths over HTTP.</summary>
internal static class Pages
{
    public static void MapPages(this IEndpointRouteBuilder app, Item[] items)
    {
        app.MapGet("/baseline11", static (int a, int b) => Number(a + b));
        app.MapPost("/baseline11", static async (int a, int b, HttpRequest request) => Number(a + b + await ReadNumberAsync(request)));
        app.MapGet("/baseline2", static (int a, int b) => Number(a + b));
        app.MapGet("/pipeline", static () => TypedResults.Text("ok"));
        app.MapGet("/json/{count:int}", (int count, int m = 1) => PageOf(items.AsSpan(0, Math.Clamp(count, 0, items.Length)), m));
    }

    private static ContentHttpResult Number(int value) => TypedResults.Text(value.ToString(CultureInfo.InvariantCulture));

    private static async Task<int> ReadNumberAsync(HttpRequest request)
    {
        using var reader = new StreamReader(request.Body);
        return int.Parse(await reader.ReadToEndAsync(request.HttpContext.RequestAborted), CultureInfo.InvariantCulture);
    }

    private static ItemPage PageOf(ReadOnlySpan<Item> items, int multiplier)
    {
        var priced = new PricedItem[items.Length];
        for (int i = 0; i < priced.Length; i++)
        {
            Item item = items[i];
            priced[i] = new PricedItem(
                item.Id, item.Name, item.Category, item.Price, item.Quantity, item.Active, item.Tags, item.Rating,
                (long)item.Price * item.Quantity * multiplier);
        }

        return new ItemPage(priced, priced.Length);
    }
}

/// <summary>Serializers that are made when the program is built.</summary>
[JsonSourceGenerationOptions(PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase)]
[JsonSerializable(typeof(ItemPage))]
internal sealed partial class PageJson : JsonSerializerContext;
