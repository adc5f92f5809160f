using System.Collections.Concurrent;
using System.Text.Json.Serialization;
using Microsoft.AspNetCore.Http.HttpResults;

namespace WebApi;

/// <summary>One mill of the collection.</summary>
internal sealed record Mill(string Name, int Wheels);

/// <summary>A collection over HTTP: list, get, put, delete.</summary>
internal static class Mills
{
    private static readonly ConcurrentDictionary<string, Mill> All = new(StringComparer.Ordinal);

    public static void MapMills(this IEndpointRouteBuilder app)
    {
        RouteGroupBuilder mills = app.MapGroup("/mills");
        mills.MapGet("/", static () => All.Values.OrderBy(static mill => mill.Name, StringComparer.Ordinal).ToArray());
        mills.MapGet("/{name}", static Results<Ok<Mill>, NotFound> (string name) =>
            All.TryGetValue(name, out Mill? mill) ? TypedResults.Ok(mill) : TypedResults.NotFound());
        mills.MapPut("/{name}", static Results<NoContent, BadRequest> (string name, Mill mill) =>
        {
            if (name != mill.Name)
            {
                return TypedResults.BadRequest();
            }

            All[name] = mill;
            return TypedResults.NoContent();
        });
        mills.MapDelete("/{name}", static Results<NoContent, NotFound> (string name) =>
            All.TryRemove(name, out _) ? TypedResults.NoContent() : TypedResults.NotFound());
    }
}

/// <summary>Serializers that are made when the program is built.</summary>
[JsonSourceGenerationOptions(PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase)]
[JsonSerializable(typeof(Greeting))]
[JsonSerializable(typeof(Mill))]
[JsonSerializable(typeof(Mill[]))]
internal sealed partial class MillJson : JsonSerializerContext;
