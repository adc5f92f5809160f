using System.Reflection;
using System.Xml.Linq;

namespace Millrace.Architecture.Tests;

/// <summary>The projects under src as they were compiled beside these tests.</summary>
internal sealed record Room(string Name, string AssemblyName, bool IsLibrary)
{
    public Assembly Load() => Assembly.LoadFrom(Path.Combine(AppContext.BaseDirectory, AssemblyName + ".dll"));
}

internal static class Rooms
{
    public static IReadOnlyList<Room> All { get; } =
    [
        .. from file in Repository.Files
           where file.Path.StartsWith("src/", StringComparison.Ordinal) && file.Path.EndsWith(".csproj", StringComparison.Ordinal)
           let name = Path.GetFileNameWithoutExtension(file.Path)
           let project = XDocument.Parse(file.Text)
           select new Room(
               name,
               (string?)project.Descendants("AssemblyName").FirstOrDefault() ?? name,
               (string?)project.Descendants("OutputType").FirstOrDefault() != "Exe"),
    ];
}
