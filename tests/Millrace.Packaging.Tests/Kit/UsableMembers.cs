using System.Reflection;
using System.Reflection.Metadata;
using System.Reflection.PortableExecutable;

namespace Millrace.Packaging.Tests;

/// <summary>What a compiled library lets others use, by its metadata alone: types, and names of members, as documentation names them.</summary>
internal static class UsableMembers
{
    public static IReadOnlySet<string> Of(byte[] library)
    {
        using var file = new PEReader(new MemoryStream(library));
        MetadataReader reader = file.GetMetadataReader();
        var members = new HashSet<string>(StringComparer.Ordinal);
        foreach (TypeDefinition type in reader.TypeDefinitions.Select(reader.GetTypeDefinition).Where(type => IsUsable(reader, type)))
        {
            string name = NameOf(reader, type);
            members.Add($"T:{name}");
            members.UnionWith(type.GetMethods().Select(reader.GetMethodDefinition).Where(static method => IsUsable(method.Attributes))
                .SelectMany(method => Named(name, reader.GetString(method.Name))));
            members.UnionWith(type.GetFields().Select(reader.GetFieldDefinition)
                .Where(static field => (field.Attributes & FieldAttributes.FieldAccessMask)
                    is FieldAttributes.Public or FieldAttributes.Family or FieldAttributes.FamORAssem)
                .Select(field => $"F:{name}.{reader.GetString(field.Name)}"));
        }

        return members;
    }

    /// <summary>Without parameters, type parameters of methods, and what an operator returns.</summary>
    public static string Simplify(string id) => id.Split('(', '~')[0].Split("``")[0];

    /// <summary>A method, or the property or event that it is of.</summary>
    private static IEnumerable<string> Named(string type, string method)
    {
        yield return $"M:{type}.{method.Replace('.', '#')}";
        if (method.Split('_', 2) is ["get" or "set", var property])
        {
            yield return $"P:{type}.{property}";
        }

        if (method.Split('_', 2) is ["add", var happening])
        {
            yield return $"E:{type}.{happening}";
        }
    }

    private static bool IsUsable(MethodAttributes attributes) => (attributes & MethodAttributes.MemberAccessMask)
        is MethodAttributes.Public or MethodAttributes.Family or MethodAttributes.FamORAssem;

    private static bool IsUsable(MetadataReader reader, TypeDefinition type) => (type.Attributes & TypeAttributes.VisibilityMask) switch
    {
        TypeAttributes.Public => true,
        TypeAttributes.NestedPublic or TypeAttributes.NestedFamily or TypeAttributes.NestedFamORAssem =>
            IsUsable(reader, reader.GetTypeDefinition(type.GetDeclaringType())),
        _ => false,
    };

    private static string NameOf(MetadataReader reader, TypeDefinition type)
    {
        string name = reader.GetString(type.Name);
        if (type.IsNested)
        {
            return $"{NameOf(reader, reader.GetTypeDefinition(type.GetDeclaringType()))}.{name}";
        }

        string place = reader.GetString(type.Namespace);
        return place.Length == 0 ? name : $"{place}.{name}";
    }
}
