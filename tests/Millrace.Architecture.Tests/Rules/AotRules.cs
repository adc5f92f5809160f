using System.Reflection;
using System.Text;

namespace Millrace.Architecture.Tests.Rules;

/// <summary>Shapes on which the AOT compiler fails, found in compiled code.</summary>
internal static class AotRules
{
    private const BindingFlags Printed = BindingFlags.Instance | BindingFlags.Public;

    /// <summary>Whether C# has written the members that print it.</summary>
    public static bool IsRecord(Type type) => type.GetMethod(
        "PrintMembers",
        BindingFlags.Instance | BindingFlags.NonPublic | BindingFlags.Public | BindingFlags.DeclaredOnly,
        [typeof(StringBuilder)]) is not null;

    /// <summary>
    /// A record's PrintMembers calls ToString on each of its public members, and the compiler of native code has no such call for pointers.
    /// C# refuses them as fields of records; properties it lets pass.
    /// </summary>
    public static IEnumerable<Finding> PrintedPointers(Type type) =>
        from property in IsRecord(type) ? type.GetProperties(Printed) : []
        where property.PropertyType is { IsPointer: true } or { IsFunctionPointer: true }
        select new Finding(
            type.FullName!, 0, $"'{property.Name}' is a pointer that a record prints: PublishAot crashes. Make it no record, or not public");
}
