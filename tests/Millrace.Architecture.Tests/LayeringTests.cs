using Millrace.Architecture.Tests.Rules;

namespace Millrace.Architecture.Tests;

public class LayeringTests
{
    [Fact]
    public void Projects_refer_only_to_what_lies_below_them()
    {
        SourceFile[] projects = [.. Repository.Files.Where(file => file.Path.StartsWith("src/", StringComparison.Ordinal)
            && file.Path.EndsWith(".csproj", StringComparison.Ordinal))];

        Assert.True(projects.Length >= 6, $"{projects.Length} projects were found under src");
        Finding.AssertNone(projects.SelectMany(LayeringRules.References));
    }

    [Fact]
    public void Compiled_code_uses_only_what_lies_below_it()
    {
        Finding.AssertNone(Rooms.All.SelectMany(room =>
            LayeringRules.Uses(room.Name, room.Load().GetReferencedAssemblies().Select(reference => reference.Name!))));
    }

    [Theory]
    [InlineData("Millrace.Http", "Millrace.Interop")]
    [InlineData("Millrace.Engine", "Millrace.Http")]
    [InlineData("Millrace.Interop", "Millrace.Engine")]
    [InlineData("Millrace.Tls", "Millrace.HttpServer")]
    [InlineData("Millrace.Server", "Millrace.DocGenerator")]
    public void A_reference_upwards_or_sideways_is_found(string from, string to)
    {
        SourceFile project = new($"src/{from}/{from}.csproj",
            $"<Project><ItemGroup><ProjectReference Include=\"../{to}/{to}.csproj\" /></ItemGroup></Project>");

        Assert.Single(LayeringRules.References(project));
        Assert.Single(LayeringRules.Uses(from, [to, "System.Runtime"]));
    }

    [Fact]
    public void A_project_outside_the_table_is_found() =>
        Assert.Single(LayeringRules.References(new SourceFile("src/Millrace.Attic/Millrace.Attic.csproj", "<Project />")));

    [Fact]
    public void What_a_reference_brings_along_lies_below_too() =>
        Assert.Empty(LayeringRules.Uses("Millrace.Server", ["Millrace.Interop", "Millrace.Engine"]));

    [Fact]
    public void No_room_lies_below_itself() =>
        Assert.All(LayeringRules.Allowed.Keys, name => Assert.DoesNotContain(name, LayeringRules.Below(name)));
}
